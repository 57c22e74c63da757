// Package plot draws what a picture says better than a table, as SVG: phases
// under the ceilings of the machine, paired ratios with their intervals, the
// history of a time with its change points. The background is transparent and
// every colour is legible on white and on black. The same data give the same
// bytes. The package must not know how anything was measured, nor decide anything.
package plot
