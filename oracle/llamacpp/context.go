package llamacpp

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"
)

// FlashAttention is the setting of that name.
type FlashAttention int32

// Settings of flash attention; a user gets Auto.
const (
	FlashAuto FlashAttention = -1
	FlashOff  FlashAttention = 0
	FlashOn   FlashAttention = 1
)

var kvTypes = map[string]int32{"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}

// ContextOptions is how sequences are evaluated. The zero value is refused: evidence names its settings.
type ContextOptions struct {
	Context    int            `json:"context"`
	MicroBatch int            `json:"micro_batch,omitempty"` // 512 when zero
	Threads    int            `json:"threads"`
	Flash      FlashAttention `json:"flash_attention"`
	KV         string         `json:"kv"` // f32, f16, bf16, q8_0, q4_0
}

func (o *ContextOptions) microBatch() int {
	if o.MicroBatch == 0 {
		return 512
	}
	return o.MicroBatch
}

// nodeFunc is called for every F32 node of the graph whose name is wanted, with its rows (one per token of the batch).
type nodeFunc func(name, op string, rows, width int, data []float32)

// Context holds the state of one sequence.
type Context struct {
	model   *Model
	handle  uintptr
	options ContextOptions
	watcher uintptr
	tokens  []int32
	at      []int32
	count   []int32
	seq     []*int32
	want    []int8
}

// NewContext makes a context.
func (m *Model) NewContext(o ContextOptions) (*Context, error) { return m.newContext(o, nil, nil) }

func (m *Model) newContext(o ContextOptions, wanted func(string) bool, f nodeFunc) (*Context, error) {
	kv, ok := kvTypes[o.KV]
	if !ok || o.Context <= 0 || o.Threads <= 0 {
		return nil, &CallError{Call: "NewContext", Detail: fmt.Sprintf("context %d, threads %d, kv %q: all three are needed", o.Context, o.Threads, o.KV)}
	}
	o.MicroBatch = o.microBatch()
	p := m.lib.api.contextDefaults()
	p.ctx, p.batch, p.microBatch = uint32(o.Context), uint32(max(o.Context, o.MicroBatch)), uint32(o.MicroBatch)
	p.threads, p.threadsBatch = int32(o.Threads), int32(o.Threads)
	p.flashAttention, p.typeK, p.typeV, p.swaFull = int32(o.Flash), kv, kv, true
	c := &Context{model: m, options: o}
	if f != nil {
		c.watcher = watch(m.lib.api, wanted, f)
		p.evalCallback, p.evalData = evalCallback(), c.watcher
	}
	logged.take()
	if c.handle = m.lib.api.contextNew(m.handle, p); c.handle == 0 {
		unwatch(c.watcher)
		return nil, &CallError{Call: "llama_init_from_model", Detail: m.path, Log: logged.take()}
	}
	return c, nil
}

// Close frees the context.
func (c *Context) Close() {
	if c.handle != 0 {
		c.model.lib.api.contextFree(c.handle)
		c.handle = 0
	}
	unwatch(c.watcher)
}

// Decode feeds ids at positions from on in one call. Logits are kept for every id when all is set, else for the last one.
func (c *Context) Decode(ids []int32, from int, all bool) error {
	if len(ids) == 0 || from < 0 || from+len(ids) > c.options.Context {
		return &CallError{Call: "llama_decode", Detail: fmt.Sprintf("%d ids at %d in a context of %d", len(ids), from, c.options.Context)}
	}
	vocab := int32(c.model.Vocab())
	c.tokens, c.at, c.want = c.tokens[:0], c.at[:0], c.want[:0]
	for i, id := range ids {
		if id < 0 || id >= vocab {
			return &CallError{Call: "llama_decode", Detail: fmt.Sprintf("id %d is not in the vocabulary of %d", id, vocab)}
		}
		w := int8(0)
		if all || i == len(ids)-1 {
			w = 1
		}
		c.tokens, c.at, c.want = append(c.tokens, id), append(c.at, int32(from+i)), append(c.want, w)
	}
	for len(c.count) < len(ids) {
		c.count, c.seq = append(c.count, 1), append(c.seq, new(int32))
	}
	announce(c.watcher, len(ids), c.options.microBatch())
	b := batch{count: int32(len(ids)), token: &c.tokens[0], position: &c.at[0], seqCount: &c.count[0], seqID: &c.seq[0], logits: &c.want[0]}
	rc := c.model.lib.api.decode(c.handle, b)
	runtime.KeepAlive(c)
	if rc != 0 {
		return &CallError{Call: "llama_decode", Detail: fmt.Sprintf("returned %d", rc), Log: logged.take()}
	}
	return nil
}

// Logits is the row after id i of the last Decode. It is the library's memory, good until the next Decode.
func (c *Context) Logits(i int) ([]float32, error) {
	p := c.model.lib.api.logits(c.handle, int32(i))
	if p == nil {
		return nil, &CallError{Call: "llama_get_logits_ith", Detail: fmt.Sprintf("no logits for id %d of the batch", i), Log: logged.take()}
	}
	return unsafe.Slice(p, c.model.Vocab()), nil
}

// Wait returns when all work has been done.
func (c *Context) Wait() { c.model.lib.api.synchronize(c.handle) }

// Clear forgets the sequence.
func (c *Context) Clear() { c.model.lib.api.memoryClear(c.model.lib.api.memory(c.handle), false) }

// State gives the key/value state of the sequence.
func (c *Context) State() ([]Cache, error) {
	n := c.model.lib.api.stateSize(c.handle, 0)
	if n == 0 || n > 1<<40 {
		return nil, &CallError{Call: "llama_state_seq_get_size", Detail: fmt.Sprint(n)}
	}
	buf := make([]byte, n)
	if got := c.model.lib.api.stateGet(c.handle, &buf[0], n, 0); got != n {
		return nil, &CallError{Call: "llama_state_seq_get_data", Detail: fmt.Sprintf("%d of %d bytes", got, n), Log: logged.take()}
	}
	return ParseState(buf)
}

// watchers holds the node functions of the contexts that have one; the library hands the key back.
var watchers struct {
	sync.Mutex
	callback uintptr
	next     uintptr
	by       map[uintptr]*watcher
}

type watcher struct {
	api    *api
	wanted func(string) bool
	f      nodeFunc
	sizes  [2]int64 // how many ids the micro-batches of the call in flight hold
}

// announce tells the watcher how many ids the next call evaluates.
func announce(key uintptr, ids, microBatch int) {
	watchers.Lock()
	defer watchers.Unlock()
	if w := watchers.by[key]; w != nil {
		w.sizes = [2]int64{int64(min(ids, microBatch)), int64(ids % microBatch)}
	}
}

// rows says how many ids a node of this shape is about: [ids][width] or [ids][heads][width].
func (w *watcher) rows(t *tensor) (rows, width int, ok bool) {
	is := func(n int64) bool { return n > 0 && (n == w.sizes[0] || n == w.sizes[1]) }
	switch {
	case is(t.ne[2]) && (t.ne[2] > 1 || !is(t.ne[1])):
		return int(t.ne[2]), int(t.ne[0] * t.ne[1]), true
	case is(t.ne[1]) && t.ne[2] == 1:
		return int(t.ne[1]), int(t.ne[0]), true
	}
	return 0, 0, false
}

func watch(a *api, wanted func(string) bool, f nodeFunc) uintptr {
	watchers.Lock()
	defer watchers.Unlock()
	if watchers.by == nil {
		watchers.by = map[uintptr]*watcher{}
	}
	watchers.next++
	watchers.by[watchers.next] = &watcher{api: a, wanted: wanted, f: f}
	return watchers.next
}

func unwatch(key uintptr) {
	watchers.Lock()
	defer watchers.Unlock()
	delete(watchers.by, key)
}

// evalCallback is made once: the number of callbacks a process can make is limited.
func evalCallback() uintptr {
	watchers.Lock()
	defer watchers.Unlock()
	if watchers.callback == 0 {
		watchers.callback = newCallback(func(t *tensor, ask bool, key uintptr) bool {
			watchers.Lock()
			w := watchers.by[key]
			watchers.Unlock()
			return w == nil || w.node(t, ask)
		})
	}
	return watchers.callback
}

// node answers whether a node is wanted and, when it has been computed, hands its values on. It must answer true then, or the
// library stops.
func (w *watcher) node(t *tensor, ask bool) bool {
	name := goString(&t.name[0])
	if ask {
		return w.wanted(name)
	}
	rows, width, ok := w.rows(t)
	if !ok || t.kind != 0 || t.data == nil || t.ne[3] != 1 || t.nb[0] != 4 || !w.wanted(name) {
		return true
	}
	data := make([]float32, 0, rows*width)
	for i2 := range t.ne[2] {
		for i1 := range t.ne[1] {
			at := unsafe.Add(t.data, uint64(i1)*t.nb[1]+uint64(i2)*t.nb[2])
			data = append(data, unsafe.Slice((*float32)(at), t.ne[0])...)
		}
	}
	w.f(name, w.api.opName(t), rows, width, data)
	return true
}
