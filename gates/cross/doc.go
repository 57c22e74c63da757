// Package cross builds, vets and runs the tree for other processors: natively at
// every kernel level, under emulators on a ladder of CPU models, and compiled
// only where nothing can run it. It says "ran" or "compiled", never one for the
// other. It must not know what the tests test.
package cross
