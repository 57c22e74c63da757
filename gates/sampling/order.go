package sampling

import (
	"encoding/binary"
	"math/rand/v2"
)

// Orders of a pair: which arm runs first.
const (
	AB = "AB"
	BA = "BA"
)

// Order is the order of pair i, from 0. Pairs 2k and 2k+1 are A B B A or B A A B
// by a coin that the seed throws for each k, so that a drift of the machine meets
// both arms alike and no rhythm of the machine can side with one. It depends on
// nothing else: a resumed run goes on as it would have.
func Order(seed uint64, i int) string {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(i/2))
	coin := int(rand.NewChaCha8(key).Uint64() & 1)
	if (coin+i)%2 == 0 {
		return AB
	}
	return BA
}
