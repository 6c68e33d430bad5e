;; Shortens a page to about 4 KB with the same CRC-32.
;;
;; A text is a polynomial over two elements, of which the first byte has the highest powers, and its CRC-32 is the
;; remainder by another polynomial. That divides x^(8·4018) + x^(8·2091) + x^(8·1837) + 1. So a byte can be taken
;; out of the text if it is added to those 1927, 2181 and 4018 bytes behind it. The sums are written beside the page:
;; each is the page's own byte and the sums that far before it. Before the first sum lie 4096 bytes of 0.
;;
;; The memory: 4096 bytes of 0; at 4096 the sums of a page and 4096 bytes more; at 73728 the short text; at 131072 room
;; for pages.
(module
  (memory (export "memory") 3)
  ;; Shortens $bytes, at least 4096, at $page, and returns the length of the short text. Its CRC-32 with 0 as the
  ;; register's first value is that of the page with the usual one.
  (func (export "shorten") (param $page i32) (param $bytes i32) (result i32)
    (local $sum i32) (local $short i32) (local $end i32) (local $rest i32) (local $first v128) (local $none v128)
    (local.set $sum (i32.const 4096))
    (local.set $short (i32.const 73728))
    ;; The register's usual first value inverts the first four bytes.
    (local.set $first (v128.const i32x4 -1 0 0 0))
    ;; All but 4018 bytes are taken out, 64 at a time.
    (local.set $end (i32.and (i32.sub (local.get $bytes) (i32.const 4018)) (i32.const -64)))
    (local.set $rest (i32.sub (local.get $bytes) (local.get $end)))
    (local.set $end (i32.add (local.get $end) (local.get $page)))
    (loop $next
      (v128.store (local.get $sum)
        (v128.xor
          (v128.xor
            (v128.xor (local.get $first) (v128.load (local.get $page)))
            (v128.load (i32.sub (local.get $sum) (i32.const 1927))))
          (v128.xor
            (v128.load (i32.sub (local.get $sum) (i32.const 2181)))
            (v128.load (i32.sub (local.get $sum) (i32.const 4018))))))
      (v128.store offset=16 (local.get $sum)
        (v128.xor
          (v128.xor
            (v128.load offset=16 (local.get $page))
            (v128.load (i32.sub (local.get $sum) (i32.const 1911))))
          (v128.xor
            (v128.load (i32.sub (local.get $sum) (i32.const 2165)))
            (v128.load (i32.sub (local.get $sum) (i32.const 4002))))))
      (v128.store offset=32 (local.get $sum)
        (v128.xor
          (v128.xor
            (v128.load offset=32 (local.get $page))
            (v128.load (i32.sub (local.get $sum) (i32.const 1895))))
          (v128.xor
            (v128.load (i32.sub (local.get $sum) (i32.const 2149)))
            (v128.load (i32.sub (local.get $sum) (i32.const 3986))))))
      (v128.store offset=48 (local.get $sum)
        (v128.xor
          (v128.xor
            (v128.load offset=48 (local.get $page))
            (v128.load (i32.sub (local.get $sum) (i32.const 1879))))
          (v128.xor
            (v128.load (i32.sub (local.get $sum) (i32.const 2133)))
            (v128.load (i32.sub (local.get $sum) (i32.const 3970))))))
      (local.set $first (local.get $none))
      (local.set $page (i32.add (local.get $page) (i32.const 64)))
      (local.set $sum (i32.add (local.get $sum) (i32.const 64)))
      (br_if $next (i32.lt_u (local.get $page) (local.get $end))))
    ;; The bytes that are left have no sums: 0 instead of those of another page.
    (memory.fill (local.get $sum) (i32.const 0) (local.get $rest))
    (local.set $end (i32.add (local.get $page) (local.get $rest)))
    (loop $left
      (v128.store (local.get $short)
        (v128.xor
          (v128.xor
            (v128.load (local.get $page))
            (v128.load (i32.sub (local.get $sum) (i32.const 1927))))
          (v128.xor
            (v128.load (i32.sub (local.get $sum) (i32.const 2181)))
            (v128.load (i32.sub (local.get $sum) (i32.const 4018))))))
      (local.set $page (i32.add (local.get $page) (i32.const 16)))
      (local.set $sum (i32.add (local.get $sum) (i32.const 16)))
      (local.set $short (i32.add (local.get $short) (i32.const 16)))
      (br_if $left (i32.lt_u (local.get $page) (local.get $end))))
    (local.get $rest)))
