package main

import "fmt"

// target is what a figure should be: at most a bound, at least one, or, where Of is the ratio, at most so many times its
// yardstick.
type target struct {
	Bound   float64 `json:"bound"`
	AtLeast bool    `json:"at_least,omitempty"`
	Ratio   bool    `json:"ratio,omitempty"`
}

// Makers of targets; none is the target of a figure that is only shown.
var none *target

func atMost(bound float64) *target     { return &target{Bound: bound} }
func atLeast(bound float64) *target    { return &target{Bound: bound, AtLeast: true} }
func timesBare(factor float64) *target { return &target{Bound: factor, Ratio: true} }

// held says whether a figure is what it should be.
func (t *target) held(f figure) bool {
	switch {
	case t.Ratio:
		return f.Ratio <= t.Bound
	case t.AtLeast:
		return f.Value >= t.Bound
	default:
		return f.Value <= t.Bound
	}
}

func (t *target) text(unit string) string {
	switch {
	case t.Ratio:
		return fmt.Sprintf("<= %.2f x", t.Bound)
	case t.AtLeast:
		return ">= " + quantity{t.Bound, unit}.String()
	default:
		return "<= " + quantity{t.Bound, unit}.String()
	}
}
