package agent

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

// freshFor is how old a measurement gets before it is not reported any more: the control plane
// takes what it receives as new.
const freshFor = 15 * time.Second

// sendVitals sends the last measurement if it is due, with the samples that wait, so that a node at
// rest sends one message. It may be lost without harm.
func (o *sender) sendVitals(ctx context.Context) error {
	o.sessions.board.mu.Lock()
	v, measured := o.sessions.vitals, o.sessions.measured
	o.sessions.board.mu.Unlock()
	o.sessions.node.mu.Lock()
	size := o.sessions.node.inventory.seen
	o.sessions.node.mu.Unlock()
	now := time.Now()
	resting := o.pace.isResting(now)
	if now.Sub(measured) > freshFor || !o.pace.isDue(now, v, size) {
		return nil
	}
	m := o.pace.markReported(now, v, o.sessions.config.VitalsEvery)
	if resting && len(m.Services) <= mostAttached {
		if batch := o.nextSamples(now, &size); len(batch.Items) > 0 {
			// Their answer is the sign of life.
			m.Samples, m.Pong = &batch, false
		}
	}
	return o.session.Send(ctx, m)
}

// sendSamples sends samples that are not stored yet. While the node rests they wait for vitals.
func (o *sender) sendSamples(ctx context.Context) error {
	now := time.Now()
	if o.pace.isResting(now) && o.sessions.measuring.record.oldestAge(now) < o.pace.overdue() {
		return nil
	}
	batch := o.nextSamples(now, nil)
	if len(batch.Items) == 0 {
		return nil
	}
	return o.session.Send(ctx, batch)
}

// nextSamples returns what may be sent now, one message at a time: the next is sent when the last
// was acknowledged. Without an acknowledgement, for example while the database is down, it
// returns the same samples again; the control plane drops duplicates by their numbers.
func (o *sender) nextSamples(now time.Time, rests *wire.Inventory) wire.Samples {
	if !o.sessions.measuring.record.isStored(o.samples) && now.Sub(o.sampled) < samplesAgain {
		return wire.Samples{}
	}
	batch := o.sessions.measuring.record.nextBatch(now, rests)
	if n := len(batch.Items); n > 0 {
		o.samples, o.sampled = batch.Items[n-1].Number, now
	}
	return batch
}
