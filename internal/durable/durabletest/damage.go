package durabletest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
)

// Damages yields what bit rot makes of a file, each with a name: a bit of any byte changed, the
// end cut off at any byte, nothing left, the end there twice or followed by zeros, a sector of
// zeros. Of each byte it changes two bits, one at a time.
func Damages(whole []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for at := range whole {
			for _, bit := range []int{at % 8, (at + 5) % 8} {
				flipped := slices.Clone(whole)
				flipped[at] ^= 1 << bit
				if !yield(fmt.Sprintf("bit %d of byte %d", bit, at), flipped) {
					return
				}
			}
			if !yield(fmt.Sprintf("cut at byte %d", at), slices.Clone(whole[:at])) {
				return
			}
		}
		tail := whole[len(whole)/2:]
		zeros := slices.Clone(whole)
		clear(zeros[len(zeros)/3 : min(len(zeros), len(zeros)/3+sector)])
		_ = yield("doubled tail", append(slices.Clone(whole), tail...)) &&
			yield("doubled last byte", append(slices.Clone(whole), whole[len(whole)-1])) &&
			yield("zero-filled tail", append(slices.Clone(whole), make([]byte, sector)...)) &&
			yield("zeros in the middle", zeros) &&
			yield("nothing but zeros", bytes.Repeat([]byte{0}, len(whole)))
	}
}
