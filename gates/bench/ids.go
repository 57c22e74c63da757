package bench

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// IDs gives n token ids below vocab, the same on every machine. What they mean
// does not matter to the time, that both engines are fed the same does.
func IDs(n, vocab int) []int32 {
	r := rand.New(rand.NewPCG(0x61737361, 0x79))
	ids := make([]int32, n)
	for i := range ids {
		ids[i] = r.Int32N(int32(vocab))
	}
	return ids
}

// idsSum is the SHA-256 of the ids as little-endian int32.
func idsSum(lists ...[]int32) string {
	h := sha256.New()
	for _, ids := range lists {
		_ = binary.Write(h, binary.LittleEndian, ids)
	}
	return hex.EncodeToString(h.Sum(nil))
}
