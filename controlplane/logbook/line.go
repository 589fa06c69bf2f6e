package logbook

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// Line is one line of a service or a step, whether a node or the database kept it.
type Line struct {
	At     time.Time
	Source pipeline.StepKey
	Text   string
	// Dropped counts lines that were left out before this one.
	Dropped int64
}

// LineFilter says which lines are wanted. Its zero value takes all of them.
type LineFilter struct {
	// Since and Until are inclusive; the zero time is no limit.
	Since, Until time.Time
	// Search is looked for without regard to case.
	Search string
}

// Matches reports whether a line is wanted.
func (c LineFilter) Matches(l Line) bool {
	switch {
	case !c.Since.IsZero() && l.At.Before(c.Since), c.IsPastEnd(l):
		return false
	case c.Search == "":
		return true
	}
	return strings.Contains(strings.ToLower(l.Text), strings.ToLower(c.Search))
}

// IsPastEnd reports whether the line is later than what is wanted. All later lines of its source
// are, too.
func (c LineFilter) IsPastEnd(l Line) bool { return !c.Until.IsZero() && l.At.After(c.Until) }

const (
	// opening is how long to wait for a source's first line before merging without it: its
	// node may have to be dialed first.
	opening = 2 * time.Second
	// lag is how late a line may be to still be put in its place.
	lag = 200 * time.Millisecond
)

// MergeLines passes the lines of several sources on, in the order of their times,
// until all sources are closed or ctx ends. Each source is in order by itself.
//
// A live source may be silent for hours: the others wait for it only for a moment, and then not
// until it sends again. So late lines come out of order instead of holding everything up. When not
// live, the order is kept however long that takes.
func MergeLines(ctx context.Context, sources []<-chan Line, live bool, out chan<- Line) {
	m := merger{ctx: ctx, live: live, out: out}
	for _, s := range sources {
		m.inputs = append(m.inputs, &input{lines: s, patience: opening})
	}
	for m.awaitNext() {
		if !m.emitEarliest() {
			return
		}
	}
}

type merger struct {
	ctx    context.Context
	live   bool
	inputs []*input
	out    chan<- Line
}

type input struct {
	lines <-chan Line
	head  *Line
	// patience is how long the others wait for it; zero while it is quiet.
	patience time.Duration
}

// awaitNext waits until it is clear which line is next. It is false at the end.
func (m *merger) awaitNext() bool {
	m.receiveReady()
	var until <-chan time.Time
	for {
		wait, have := m.waitForMissing()
		switch {
		case m.ctx.Err() != nil || len(m.inputs) == 0:
			return false
		case have && wait == 0:
			return true
		case have && m.live && until == nil:
			timer := time.NewTimer(wait)
			defer timer.Stop()
			until = timer.C
		}
		if m.receiveOne(until) {
			m.stopWaiting()
			return true
		}
	}
}

// receiveReady takes what is there without waiting.
func (m *merger) receiveReady() {
	for i := 0; i < len(m.inputs); i++ {
		if m.inputs[i].head != nil {
			continue
		}
		select {
		case l, more := <-m.inputs[i].lines:
			if !m.storeHead(i, l, more) {
				i--
			}
		default:
		}
	}
}

// storeHead stores a source's next line; it is false at the source's end.
func (m *merger) storeHead(i int, l Line, more bool) bool {
	if !more {
		m.inputs = append(m.inputs[:i], m.inputs[i+1:]...)
		return false
	}
	m.inputs[i].head, m.inputs[i].patience = &l, lag
	return true
}

// waitForMissing returns how long to wait for sources without a next line, and whether
// any source has one.
func (m *merger) waitForMissing() (wait time.Duration, have bool) {
	for _, in := range m.inputs {
		switch {
		case in.head != nil:
			have = true
		case !m.live:
			wait = opening
		default:
			wait = max(wait, in.patience)
		}
	}
	return wait, have
}

// stopWaiting stops waiting for sources that were too slow.
func (m *merger) stopWaiting() {
	for _, in := range m.inputs {
		if in.head == nil {
			in.patience = 0
		}
	}
}

// receiveOne takes one line of a source without a head; it reports whether time
// was up instead.
func (m *merger) receiveOne(until <-chan time.Time) bool {
	cases := []reflect.SelectCase{
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(m.ctx.Done())},
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(until)},
	}
	var of []int
	for i, in := range m.inputs {
		if in.head == nil {
			cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv,
				Chan: reflect.ValueOf(in.lines)})
			of = append(of, i)
		}
	}
	chosen, value, more := reflect.Select(cases)
	if chosen < 2 {
		return chosen == 1
	}
	var l Line
	if more {
		l, _ = reflect.TypeAssert[Line](value)
	}
	m.storeHead(of[chosen-2], l, more)
	return false
}

// emitEarliest passes the earliest head on.
func (m *merger) emitEarliest() bool {
	var first *input
	for _, in := range m.inputs {
		if in.head != nil && (first == nil || in.head.At.Before(first.head.At)) {
			first = in
		}
	}
	if first == nil {
		return true
	}
	select {
	case m.out <- *first.head:
		first.head = nil
		return true
	case <-m.ctx.Done():
		return false
	}
}
