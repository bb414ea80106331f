package python

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// fingerprint is by what the runtime knows the native library for the one that cg has
// found or made: _imp.source_hash of its content, in which versions of Python
// differ. It is what an interpreter can compute without importing a module.
func fingerprint(content []byte) string {
	if content == nil {
		return ""
	}
	const key = 0x6367
	var words []byte
	for _, rounds := range [][2]int{{1, 3}, {2, 4}} { // since 3.11, and before
		words = binary.LittleEndian.AppendUint64(words, sipHash(key, content, rounds))
	}
	return fmt.Sprintf("%x %x", words[:8], words[8:])
}

// sipHash is _imp.source_hash.
func sipHash(key uint64, source []byte, rounds [2]int) uint64 {
	v := [4]uint64{key ^ 0x736f6d6570736575, 0x646f72616e646f6d, key ^ 0x6c7967656e657261, 0x7465646279746573}
	turn := func(n int) {
		for range n {
			v[0] += v[1]
			v[2] += v[3]
			v[1], v[3] = bits.RotateLeft64(v[1], 13)^v[0], bits.RotateLeft64(v[3], 16)^v[2]
			v[0] = bits.RotateLeft64(v[0], 32)
			v[2] += v[1]
			v[0] += v[3]
			v[1], v[3] = bits.RotateLeft64(v[1], 17)^v[2], bits.RotateLeft64(v[3], 21)^v[0]
			v[2] = bits.RotateLeft64(v[2], 32)
		}
	}
	last := [8]byte{7: byte(len(source))}
	copy(last[:7], source[len(source)&^7:])
	for i := 0; i <= len(source)/8; i++ {
		w := binary.LittleEndian.Uint64(last[:])
		if i < len(source)/8 {
			w = binary.LittleEndian.Uint64(source[8*i:])
		}
		v[3] ^= w
		turn(rounds[0])
		v[0] ^= w
	}
	v[2] ^= 0xff
	turn(rounds[1])
	return v[0] ^ v[1] ^ v[2] ^ v[3]
}
