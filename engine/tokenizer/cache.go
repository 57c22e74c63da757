package tokenizer

import (
	"slices"
	"strings"
	"sync"
)

// Bounds of the word cache: when it is full it starts anew.
const (
	maxCachedWords = 1 << 14
	maxCachedWord  = 64 // bytes
)

// wordCache remembers the ids of words. It may be used concurrently.
type wordCache struct {
	mu    sync.RWMutex
	words map[string][]int32
}

func (c *wordCache) get(word string) ([]int32, bool) {
	if len(word) > maxCachedWord {
		return nil, false
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.words[word]
	return ids, ok
}

func (c *wordCache) put(word string, ids []int32) {
	if len(word) > maxCachedWord {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil || len(c.words) >= maxCachedWords {
		c.words = make(map[string][]int32)
	}
	// The word is part of the caller's text, which must not stay alive for it.
	c.words[strings.Clone(word)] = slices.Clone(ids)
}
