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
    (i32.shr_u (i32.sub (local.get $out) (local.get $begin)) (i32.const 2)))
  ;; Writes the places at which three bytes in turn may be those of a literal. Of each byte, two tables say by its
  ;; halves which literals may have it there, a bit for each: at 0 those of the first byte by its lower half, then by its
  ;; upper one, and so on. A place has 24 bits, and the literals are above it.
  (func (export "threes") (param $from i32) (param $to i32) (param $out i32) (result i32)
    (local $low v128) (local $high v128) (local $first v128) (local $second v128)
    (local $firstBefore v128) (local $secondBefore v128) (local $fits v128)
    (local $lows1 v128) (local $highs1 v128) (local $lows2 v128) (local $highs2 v128) (local $lows3 v128) (local $highs3 v128)
    (local $lanes i32) (local $lane i32) (local $begin i32)
    (local.set $begin (local.get $out))
    (local.set $lows1 (v128.load offset=0 (i32.const 0)))
    (local.set $highs1 (v128.load offset=16 (i32.const 0)))
    (local.set $lows2 (v128.load offset=32 (i32.const 0)))
    (local.set $highs2 (v128.load offset=48 (i32.const 0)))
    (local.set $lows3 (v128.load offset=64 (i32.const 0)))
    (local.set $highs3 (v128.load offset=80 (i32.const 0)))
    (block $end
      (loop $blocks
        (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $high (v128.load (local.get $from)))
        (local.set $low (v128.and (local.get $high) (i8x16.splat (i32.const 15))))
        (local.set $high (v128.and (i16x8.shr_u (local.get $high) (i32.const 4)) (i8x16.splat (i32.const 15))))
        (local.set $first
          (v128.and
            (i8x16.swizzle (local.get $lows1) (local.get $low))
            (i8x16.swizzle (local.get $highs1) (local.get $high))))
        (local.set $second
          (v128.and
            (i8x16.swizzle (local.get $lows2) (local.get $low))
            (i8x16.swizzle (local.get $highs2) (local.get $high))))
        (local.set $fits
          (v128.and
            (v128.and
              (i8x16.shuffle 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
                (local.get $firstBefore) (local.get $first))
              (i8x16.shuffle 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
                (local.get $secondBefore) (local.get $second)))
            (v128.and
              (i8x16.swizzle (local.get $lows3) (local.get $low))
              (i8x16.swizzle (local.get $highs3) (local.get $high)))))
        (local.set $firstBefore (local.get $first))
        (local.set $secondBefore (local.get $second))
        (if (v128.any_true (local.get $fits))
          (then
            (v128.store offset=96 (i32.const 0) (local.get $fits))
            (local.set $lanes (i8x16.bitmask (i8x16.ne (local.get $fits) (v128.const i64x2 0 0))))
            (loop $each
              (local.set $lane (i32.ctz (local.get $lanes)))
              (i32.store
                (local.get $out)
                (i32.or
                  (i32.sub (i32.add (local.get $from) (local.get $lane)) (i32.const 2))
                  (i32.shl (i32.load8_u offset=96 (local.get $lane)) (i32.const 24))))
              (local.set $out (i32.add (local.get $out) (i32.const 4)))
              (br_if $each
                (local.tee $lanes (i32.and (local.get $lanes) (i32.sub (local.get $lanes) (i32.const 1))))))))
        (local.set $from (i32.add (local.get $from) (i32.const 16)))
        (br $blocks)))
    (i32.shr_u (i32.sub (local.get $out) (local.get $begin)) (i32.const 2))))
