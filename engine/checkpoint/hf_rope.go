package checkpoint

// rope reads rope_parameters (transformers 5), or rope_theta and rope_scaling.
// Where both spellings are given they must say the same.
func (k *jsonKeys) rope(headDim int) Rope {
	theta := k.float("rope_theta", false, 10000)
	newer, older := k.object("rope_parameters"), k.object("rope_scaling")
	base := Rope{Base: theta, Dim: headDim, Pairing: Halves}
	r := k.ropeObject(base, newer)
	if o := k.ropeObject(base, older); older != nil {
		if newer != nil && (o.Scaling != r.Scaling || o.Factor != r.Factor || o.LowFreq != r.LowFreq ||
			o.HighFreq != r.HighFreq || o.OriginalContext != r.OriginalContext) {
			k.fail("rope_scaling", "contradicts rope_parameters")
		}
		if newer == nil {
			r = o
		}
	}
	if _, both := k.values["rope_theta"]; both && newer != nil && r.Base != theta {
		k.fail("rope_theta", "is %v, but rope_parameters.rope_theta is %v", theta, r.Base)
	}
	if !(r.Base > 0) {
		k.fail("rope_theta", "is %v: out of range, it must be positive", r.Base)
	}
	for _, key := range []string{"partial_rotary_factor"} {
		if f := k.float(key, false, 1); f != 1 {
			k.fail(key, "is %v: unsupported, only 1 is", f)
		}
	}
	return r
}

// ropeObject reads one of the two objects; absent means no scaling.
func (k *jsonKeys) ropeObject(r Rope, o *jsonKeys) Rope {
	if o == nil {
		return r
	}
	r.Base = o.float("rope_theta", false, r.Base)
	kind := o.text("rope_type", false, "")
	if old := o.text("type", false, kind); kind == "" {
		kind = old
	} else if old != kind {
		o.fail("type", "is %s, but rope_type is %s", quoted(old), quoted(kind))
	}
	switch kind {
	case "", "default":
		o.value("original_max_position_embeddings", false)
	case "linear":
		r.Scaling, r.Factor = ScaleLinear, o.positive("factor")
		o.value("original_max_position_embeddings", false)
	case "llama3":
		r.Scaling, r.Factor = ScaleLlama3, o.positive("factor")
		r.LowFreq, r.HighFreq = o.positive("low_freq_factor"), o.positive("high_freq_factor")
		r.OriginalContext = o.size("original_max_position_embeddings", true, 0).value
		if *o.err == nil && r.HighFreq <= r.LowFreq {
			o.fail("high_freq_factor", "is %v: out of range, it must exceed low_freq_factor = %v", r.HighFreq, r.LowFreq)
		}
		if *o.err == nil && r.OriginalContext == 0 {
			o.fail("original_max_position_embeddings", "is 0: out of range")
		}
	default:
		o.fail("rope_type", "is %s: unknown or unsupported rope scaling, the engine knows default, linear and llama3", quoted(kind))
	}
	for _, key := range []string{"factor", "partial_rotary_factor", "attention_factor"} {
		if !o.used[key] {
			if f := o.float(key, false, 1); f != 1 {
				o.fail(key, "is %v: unsupported with rope_type %s", f, quoted(kind))
			}
		}
	}
	for _, key := range o.order {
		if _, given := o.value(key, false); given && !ropeKeys[key] {
			o.fail(key, "is unknown to the engine and may change what the model computes: unsupported rope parameter")
		}
	}
	return r
}

var ropeKeys = map[string]bool{
	"rope_theta": true, "rope_type": true, "type": true, "factor": true, "low_freq_factor": true, "high_freq_factor": true,
	"original_max_position_embeddings": true, "partial_rotary_factor": true, "attention_factor": true,
}

func (k *jsonKeys) positive(key string) float64 {
	f := k.float(key, true, 0)
	if _, ok := k.values[key]; ok && !(f > 0) {
		k.fail(key, "is %v: out of range, it must be positive", f)
	}
	return f
}
