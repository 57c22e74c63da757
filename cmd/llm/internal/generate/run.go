package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"assay/engine"
	"assay/engine/sample"
	"assay/engine/tokenizer"
)

// errInterrupted ends a run that the user stopped.
var errInterrupted = errors.New("interrupted")

// Reasons why generation ended.
const (
	finishStop        = "stop"        // the model ended its turn
	finishLength      = "length"      // --tokens are made, or the context is full
	finishInterrupted = "interrupted" // Ctrl-C
)

// run generates and reports. What was made before an interruption is kept.
func run(ctx context.Context, o *options, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	r := &result{Format: Format, FinishReason: finishInterrupted, PromptIDs: []int32{}, IDs: []int32{}, Phases: []phase{}}
	defer func() {
		if err == nil || errors.Is(err, errInterrupted) {
			err = errors.Join(r.report(o, stdout, stderr), err)
		}
	}()
	text, err := readPrompt(ctx, o.prompt, stdin)
	if err != nil {
		return err
	}
	m, err := engine.Open(ctx, o.model, o.engine)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	r.describe(m, o)
	ids, chat, t, err := promptIDs(m, o, text)
	if err != nil {
		return err
	}
	r.PromptIDs, r.Chat = ids, chat
	s, room, err := newSession(m, o, len(ids))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	g := generation{options: o, session: s, room: room, stop: stopIDs(m, t), result: r, out: newText(o, t, stdout)}
	err = g.run(ctx)
	r.Phases = phases(slices.Concat(m.LoadPhases(), s.Phases()))
	return err
}

// newSession makes a session for the prompt. Sessions round their capacity up;
// room is what the user asked for, and never more than the model was made for.
func newSession(m *engine.Model, o *options, prompt int) (s *engine.Session, room int, err error) {
	limit := m.Config().Context
	if limit > 0 && o.context > limit {
		return nil, 0, fmt.Errorf("--context %d: the model was made for %d positions", o.context, limit)
	}
	s, err = m.NewSession(engine.SessionOptions{Context: o.context})
	if err != nil {
		return nil, 0, err
	}
	room = s.Capacity()
	for _, bound := range []int{o.context, limit} {
		if bound > 0 {
			room = min(room, bound)
		}
	}
	if prompt > room {
		err := fmt.Errorf("the prompt has %d ids and the context %d positions (--context)", prompt, room)
		return nil, 0, errors.Join(err, s.Close())
	}
	return s, room, nil
}

// stopIDs are the ids that end a turn: the tokenizer knows more of them than
// the configuration names.
func stopIDs(m *engine.Model, t *tokenizer.Tokenizer) map[int32]bool {
	ids := m.Config().EOS
	if t != nil {
		ids = append(t.EOS(), ids...)
	}
	stop := make(map[int32]bool)
	for _, id := range ids {
		stop[id] = true
	}
	return stop
}

// generation is one answer in the making.
type generation struct {
	options *options
	session *engine.Session
	room    int // positions
	stop    map[int32]bool
	result  *result
	out     *text
}

func (g *generation) run(ctx context.Context) error {
	sampler, err := sample.New(g.options.sample)
	if err != nil {
		return err
	}
	err = g.loop(ctx, sampler)
	if flushed := g.out.flush(); err == nil {
		err = flushed
	}
	g.result.Text = g.out.whole.String()
	return err
}

// loop feeds the prompt and then every id that it chooses. The last id is not
// fed: nothing would read its logits.
func (g *generation) loop(ctx context.Context, sampler *sample.Sampler) error {
	if err := g.session.Prefill(ctx, g.result.PromptIDs); err != nil {
		return interrupted(ctx, err)
	}
	for g.options.tokens < 0 || len(g.result.IDs) < g.options.tokens {
		if ctx.Err() != nil {
			return errInterrupted
		}
		id, err := choose(g.session, sampler)
		if err != nil {
			return err
		}
		g.result.IDs = append(g.result.IDs, id)
		if g.stop[id] {
			g.result.FinishReason = finishStop
			return nil
		}
		if err := g.out.push(id); err != nil {
			return err
		}
		if len(g.result.IDs) == g.options.tokens || g.session.Position() >= g.room {
			break
		}
		if err := g.session.Decode(ctx, id); err != nil {
			return interrupted(ctx, err)
		}
	}
	g.result.FinishReason = finishLength
	return nil
}

func choose(s *engine.Session, sampler *sample.Sampler) (id int32, err error) {
	s.Choose(func(logits []float32) int32 {
		id, err = sampler.Sample(logits)
		return id
	})
	if err != nil {
		return 0, fmt.Errorf("after %d ids: %w", s.Position(), err)
	}
	return id, nil
}

// interrupted tells a cancelled call from one that failed.
func interrupted(ctx context.Context, err error) error {
	if cause := ctx.Err(); cause != nil && errors.Is(err, cause) {
		return errInterrupted
	}
	return err
}
