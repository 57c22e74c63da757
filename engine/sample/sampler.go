package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Step is one filter of the chain.
type Step uint8

// Steps of the chain.
const (
	StepTopK Step = iota
	StepTopP
	StepMinP
	StepTemperature
)

// DefaultOrder is llama.cpp's: filters judge the model's own distribution, and
// the temperature shapes what is left.
var DefaultOrder = []Step{StepTopK, StepTopP, StepMinP, StepTemperature}

// Options of a Sampler. The zero value is greedy.
type Options struct {
	Temperature float32 // logits are divided by it; 0 or less is greedy
	TopK        int     // keep the k largest logits; 0 or less keeps all
	TopP        float32 // keep the shortest run of the largest whose probability reaches p, at least one; 0 or >= 1 keeps all
	MinP        float32 // keep what is at least p times as probable as the largest; 0 keeps all
	Seed        uint64
	Order       []Step // nil: DefaultOrder
}

// Validate tells which option cannot be meant.
func (o Options) Validate() error {
	bad := func(x float32) bool { return x != x || x < 0 || math.IsInf(float64(x), 0) }
	switch {
	case o.Temperature != o.Temperature || math.IsInf(float64(o.Temperature), 0):
		return fmt.Errorf("sample: temperature %v is not a number", o.Temperature)
	case bad(o.TopP):
		return fmt.Errorf("sample: top-p %v is not a probability", o.TopP)
	case bad(o.MinP) || o.MinP > 1:
		return fmt.Errorf("sample: min-p %v is not between 0 and 1", o.MinP)
	}
	for _, s := range o.Order {
		if s > StepTemperature {
			return fmt.Errorf("sample: step %d is unknown", s)
		}
	}
	return nil
}

// Sampler draws ids for one sequence. It is not for concurrent use, and
// allocates only when a row is longer than those before.
type Sampler struct {
	options Options
	random  *rand.Rand
	kept    candidates
}

// candidate is an id that may still be drawn.
type candidate struct {
	logit  float64
	weight float64 // relative to the largest, 0..1
	id     int32
}

// New gives a sampler whose draws depend on the seed alone.
func New(o Options) (*Sampler, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Order == nil {
		o.Order = DefaultOrder
	}
	return &Sampler{options: o, random: rand.New(rand.NewPCG(o.Seed, 0x9e3779b97f4a7c15))}, nil
}

// Sample gives the next id. NaN is never drawn; where logits are +Inf only
// these are. It consumes one random number a call, none when greedy.
func (s *Sampler) Sample(logits []float32) (int32, error) {
	if s.options.Temperature <= 0 {
		return Greedy(logits)
	}
	total, err := s.filter(logits)
	if err != nil {
		return -1, err
	}
	u := float64(s.random.Float64() * total)
	sum, last := 0.0, int32(-1)
	for _, c := range s.kept {
		if c.weight == 0 {
			continue
		}
		sum, last = sum+c.weight, c.id
		if u < sum {
			break
		}
	}
	return last, nil
}

// filter leaves in s.kept what may be drawn, with weights, and gives their sum.
func (s *Sampler) filter(logits []float32) (total float64, err error) {
	if err := s.load(logits); err != nil {
		return 0, err
	}
	for _, step := range s.options.Order {
		switch step {
		case StepTopK:
			s.topK(s.options.TopK)
		case StepTopP:
			s.topP(float64(s.options.TopP))
		case StepMinP:
			s.minP(float64(s.options.MinP))
		case StepTemperature:
			for i := range s.kept {
				s.kept[i].logit /= float64(s.options.Temperature)
			}
		}
	}
	return s.weigh(), nil
}

// load takes the numbers of a row; where some are +Inf, only these, as equals.
func (s *Sampler) load(logits []float32) error {
	s.kept = s.kept[:0]
	infinite := false
	for i, x := range logits {
		if x != x || infinite && !math.IsInf(float64(x), 1) {
			continue
		}
		if math.IsInf(float64(x), 1) {
			if !infinite {
				infinite, s.kept = true, s.kept[:0]
			}
			x = 0
		}
		s.kept = append(s.kept, candidate{logit: float64(x), id: int32(i)})
	}
	if len(s.kept) == 0 {
		return ErrNoNumber
	}
	return nil
}

// weigh sets weights relative to the largest logit and gives their sum.
func (s *Sampler) weigh() float64 {
	largest := s.kept.largest()
	total := 0.0
	for i := range s.kept {
		c := &s.kept[i]
		c.weight = 1
		if c.logit != largest {
			c.weight = exp(c.logit - largest)
		}
		total += c.weight
	}
	return total
}

func (s *Sampler) topK(k int) {
	if k <= 0 || k >= len(s.kept) {
		return
	}
	s.kept.selectLargest(k)
	s.kept = s.kept[:k]
}

func (s *Sampler) topP(p float64) {
	if p <= 0 || p >= 1 {
		return
	}
	need := float64(p * s.weigh())
	n, sum := 0, 0.0
	for heap := s.kept.newHeap(); n < len(s.kept); n++ {
		sum += heap.pop().weight
		if sum >= need {
			n++
			break
		}
	}
	s.kept.popped(n)
	s.kept = s.kept[:n]
}

func (s *Sampler) minP(p float64) {
	if p <= 0 {
		return
	}
	s.weigh()
	n := 0
	for _, c := range s.kept {
		if c.weight >= p {
			s.kept[n] = c
			n++
		}
	}
	s.kept = s.kept[:n]
}
