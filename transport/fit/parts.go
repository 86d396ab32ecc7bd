package fit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// object is a JSON object whose values stay as they are written.
type object = map[string]json.RawMessage

// parts is an event that is taken apart as far as parts of it may be left out.
type parts struct {
	top  object
	sets map[string][]object // the datasets, by inputs and outputs
	// facets are the maps of facets, by their place in the event.
	facets map[string]object
	order  []part // what may go, in the order in which it goes
	left   []string
}

// part is what may be left out.
type part struct {
	place string
	size  int
	last  int // a higher one goes later, whatever its size
	drop  func()
}

// The turns in which parts go. A consumer that gets no jobType or no parent puts the run in the wrong place, and both
// are small.
const (
	optional = iota
	datasets
	needed
)

// facetsOf are the maps of facets of a dataset.
var facetsOf = map[string][]string{"inputs": {"facets", "inputFacets"}, "outputs": {"facets", "outputFacets"}}

// take takes an event apart.
func take(body []byte) (*parts, error) {
	p := &parts{sets: map[string][]object{}, facets: map[string]object{}}
	if err := json.Unmarshal(body, &p.top); err != nil {
		return nil, fmt.Errorf("reading the event: %w", err)
	}
	if p.top["run"] == nil || p.top["job"] == nil {
		return nil, errors.New("reading the event: it has no run or no job")
	}
	for _, whole := range []string{"run", "job"} {
		var fields object
		if err := json.Unmarshal(p.top[whole], &fields); err != nil {
			return nil, fmt.Errorf("reading its %s: %w", whole, err)
		}
		if err := p.take(whole+".facets", fields["facets"]); err != nil {
			return nil, err
		}
	}
	for _, side := range []string{"inputs", "outputs"} {
		if err := p.takeSets(side); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(p.order, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(b.size, a.size), cmp.Compare(a.place, b.place))
	})
	return p, nil
}

// take notes the facets at a place.
func (p *parts) take(place string, raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var facets object
	if err := json.Unmarshal(raw, &facets); err != nil {
		return fmt.Errorf("reading its %s: %w", place, err)
	}
	p.facets[place] = facets
	for key, facet := range facets {
		one := part{place: place + "." + key, size: len(key) + len(facet), drop: func() { delete(facets, key) }}
		if one.place == "run.facets.parent" || one.place == "job.facets.jobType" {
			one.last = needed
		}
		p.order = append(p.order, one)
	}
	return nil
}

// takeSets notes the datasets on one side, their facets first.
func (p *parts) takeSets(side string) error {
	if p.top[side] == nil {
		return nil
	}
	var sets []object
	if err := json.Unmarshal(p.top[side], &sets); err != nil {
		return fmt.Errorf("reading its %s: %w", side, err)
	}
	p.sets[side] = sets
	for i, set := range sets {
		for _, key := range facetsOf[side] {
			if err := p.take(fmt.Sprintf("%s[%d].%s", side, i, key), set[key]); err != nil {
				return err
			}
		}
	}
	if len(sets) > 0 {
		p.order = append(p.order, part{
			place: side, size: len(p.top[side]), last: datasets, drop: func() { p.sets[side] = []object{} },
		})
	}
	return nil
}

// leaveOut drops the next n parts, or as many as there are; false: there are none.
func (p *parts) leaveOut(n int) bool {
	n = min(n, len(p.order))
	for _, one := range p.order[:n] {
		one.drop()
		p.left = append(p.left, one.place)
	}
	p.order = p.order[n:]
	return n > 0
}

// errNothingLeft says that even the bare event is over the limit.
var errNothingLeft = errors.New("nothing can be left out any more")

// fitting leaves out as much more as it takes to get under a limit, and returns the event as it is then; 0: no limit.
func (p *parts) fitting(limit int) ([]byte, error) {
	for {
		body, err := p.body()
		if err != nil {
			return nil, err
		}
		if limit <= 0 || len(body) <= limit {
			return body, nil
		}
		if !p.leaveOut(1) {
			return nil, errNothingLeft
		}
	}
}

// body returns the event as it is by now. What stays keeps its bytes.
func (p *parts) body() ([]byte, error) {
	top := maps.Clone(p.top)
	for _, whole := range []string{"run", "job"} {
		var fields object
		if err := json.Unmarshal(top[whole], &fields); err != nil {
			return nil, err
		}
		if err := p.put(whole, fields, "facets"); err != nil {
			return nil, err
		}
		if err := encode(top, whole, fields); err != nil {
			return nil, err
		}
	}
	for side, sets := range p.sets {
		made := make([]object, len(sets))
		for i, set := range sets {
			made[i] = maps.Clone(set)
			for _, key := range facetsOf[side] {
				if err := p.put(fmt.Sprintf("%s[%d]", side, i), made[i], key); err != nil {
					return nil, err
				}
			}
		}
		if err := encode(top, side, made); err != nil {
			return nil, err
		}
	}
	whole := object{}
	if err := encode(whole, "event", top); err != nil {
		return nil, err
	}
	return whole["event"], nil
}

// put writes the facets of a place under their key.
func (p *parts) put(place string, fields object, key string) error {
	facets, ok := p.facets[place+"."+key]
	if !ok {
		return nil
	}
	return encode(fields, key, facets)
}

// encode writes a value under a key, with keys sorted and nothing escaped that need not be.
func encode(into object, key string, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("writing %s: %w", key, err)
	}
	into[key] = bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	return nil
}
