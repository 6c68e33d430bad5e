;; All places of a literal in a block of text, found 16 at a time by two of the literal's bytes.
;; At 0 lies the literal, at 256 a byte for each of its own: 255, or 0 if any byte may stand there (it is 0 then).
(module
  (memory (export "memory") 6)
  ;; Writes the places in from..to as numbers of 32 bits to $out, and returns how many there are.
  (func (export "places")
    (param $from i32) (param $to i32) (param $length i32) (param $one i32) (param $other i32) (param $out i32)
    (result i32)
    (local $first v128) (local $second v128) (local $found i32) (local $at i32) (local $n i32) (local $begin i32)
    (local.set $begin (local.get $out))
    (local.set $first (i8x16.splat (i32.load8_u (local.get $one))))
    (local.set $second (i8x16.splat (i32.load8_u (local.get $other))))
    (block $end
      (loop $blocks
        (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $found
          (i8x16.bitmask
            (v128.and
              (i8x16.eq (v128.load (i32.add (local.get $from) (local.get $one))) (local.get $first))
              (i8x16.eq (v128.load (i32.add (local.get $from) (local.get $other))) (local.get $second)))))
        (block $none
          (loop $each
            (br_if $none (i32.eqz (local.get $found)))
            (local.set $at (i32.add (local.get $from) (i32.ctz (local.get $found))))
            (local.set $found (i32.and (local.get $found) (i32.sub (local.get $found) (i32.const 1))))
            (br_if $end (i32.ge_u (local.get $at) (local.get $to)))
            (local.set $n (i32.const 0))
            (loop $bytes
              (br_if $each
                (i32.ne
                  (i32.and
                    (i32.load8_u (i32.add (local.get $at) (local.get $n)))
                    (i32.load8_u offset=256 (local.get $n)))
                  (i32.load8_u (local.get $n))))
              (br_if $bytes
                (i32.lt_u
                  (local.tee $n (i32.add (local.get $n) (i32.const 1)))
                  (local.get $length))))
            (i32.store (local.get $out) (local.get $at))
            (local.set $out (i32.add (local.get $out) (i32.const 4)))
            (br $each)))
        (local.set $from (i32.add (local.get $from) (i32.const 16)))
        (br $blocks)))
    (i32.shr_u (i32.sub (local.get $out) (local.get $begin)) (i32.const 2))))
