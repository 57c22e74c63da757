// Package generate is the command llmgen: flags, prompt, generation loop,
// report. It runs in the process of its tests. It uses the engine as any other
// program would and must not know of gates, oracles or evidence.
package generate
