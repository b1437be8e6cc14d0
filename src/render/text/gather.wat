;; Copies fragments of one memory into another, one after the other. Compiled to the constant in
;; `gather.ts`.
(module
  (import "memory" "fragments" (memory $fragments 1 65536 shared))
  (import "memory" "scratch" (memory $scratch 1))

  ;; The list of fragments is in the scratch memory, from 0 to $end: the address of each fragment in
  ;; its memory, then its length. Both memories must be accessible for 32 bytes beyond each
  ;; fragment. Returns the address after the last byte.
  (func (export "gather") (param $end i32) (param $to i32) (result i32)
    (local $piece i32) (local $from i32) (local $until i32)

    ;; First reads a byte of every cache line. Such reads overlap, whereas a copy waits for one line
    ;; after the other.
    (loop $pieces
      (local.set $from (i32.load $scratch (local.get $piece)))
      (local.set $until (i32.add (local.get $from) (i32.load $scratch offset=4 (local.get $piece))))
      (loop $lines
        (drop (i32.load8_u $fragments (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (br_if $lines (i32.lt_u (local.get $from) (local.get $until))))
      (local.set $piece (i32.add (local.get $piece) (i32.const 8)))
      (br_if $pieces (i32.lt_u (local.get $piece) (local.get $end))))

    (local.set $piece (i32.const 0))
    (loop $pieces
      (local.set $from (i32.load $scratch (local.get $piece)))
      (local.set $until (i32.add (local.get $to) (i32.load $scratch offset=4 (local.get $piece))))
      (loop $words
        (v128.store $scratch (local.get $to) (v128.load $fragments (local.get $from)))
        (v128.store $scratch offset=16 (local.get $to) (v128.load $fragments offset=16 (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (local.set $to (i32.add (local.get $to) (i32.const 32)))
        (br_if $words (i32.lt_u (local.get $to) (local.get $until))))
      ;; The bytes that were copied beyond the fragment are overwritten by the next one.
      (local.set $to (local.get $until))
      (local.set $piece (i32.add (local.get $piece) (i32.const 8)))
      (br_if $pieces (i32.lt_u (local.get $piece) (local.get $end))))
    (local.get $to)))
