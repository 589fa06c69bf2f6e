package alerts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// findWithin bounds a source: a registry that accepts a connection and never answers must not hold
// up what is evaluated of everything else.
const findWithin = 20 * time.Second

// Evaluate finds the causes that are there now, and starts and ends alerts.
func (a *Alerts) Evaluate(ctx context.Context) error {
	causes, judged := a.askSources(ctx)
	judged = append(judged, a.storedConditions()...)
	err := a.Store.InTx(ctx, func(tx *postgres.Tx) error {
		stored, err := tx.Alerts().ListCauses(ctx, a.Limits)
		if err != nil {
			return err
		}
		return a.apply(ctx, tx, slices.Concat(causes, stored), judged)
	})
	if err == nil && a.Beat != nil {
		err = a.Beat(ctx)
	}
	return err
}

// askSources asks those that are due, side by side, and returns what they found, and of which
// conditions: those of a source that could not tell are left as they are.
func (a *Alerts) askSources(
	ctx context.Context,
) (causes []controlplane.AlertCause, judged []string) {
	var mu sync.Mutex
	var asked sync.WaitGroup
	for i, s := range a.Sources {
		if a.Now().Before(a.due[i]) {
			continue
		}
		a.due[i] = a.Now().Add(s.Every)
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, findWithin)
			defer cancel()
			found, err := s.Find(ctx)
			if err != nil {
				a.Log.WarnContext(ctx, "causes of alerts are not known", "conditions", s.Conditions,
					"error", err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			causes, judged = append(causes, found...), append(judged, s.Conditions...)
		})
	}
	asked.Wait()
	return causes, judged
}

// storedConditions are those whose causes are in the database.
func (a *Alerts) storedConditions() []string {
	var all []string
	for _, r := range controlplane.AlertRules() {
		if !slices.ContainsFunc(a.Sources, func(s Source) bool {
			return slices.Contains(s.Conditions, r.Condition)
		}) {
			all = append(all, r.Condition)
		}
	}
	return all
}

func (a *Alerts) apply(ctx context.Context, tx *postgres.Tx, causes []controlplane.AlertCause,
	judged []string) error {
	var starts []controlplane.AlertStart
	for i, c := range causes {
		rule, ok := controlplane.FindAlertRule(c.Condition)
		if !ok {
			a.Log.ErrorContext(ctx, "a cause has no rule", "condition", c.Condition)
			continue
		}
		causes[i] = c.Clipped()
		starts = append(starts, controlplane.AlertStart{AlertCause: causes[i],
			Severity: rule.Severity, Delay: a.Delay(rule)})
	}
	if err := tx.Alerts().Start(ctx, starts); err != nil {
		return err
	}
	if err := tx.Alerts().EndOthers(ctx, judged, causes); err != nil {
		return err
	}
	if err := tx.Alerts().Announce(ctx, a.URL); err != nil {
		return err
	}
	if err := tx.Processes().DeleteOld(ctx); err != nil {
		return err
	}
	return tx.Alerts().DeleteOld(ctx)
}
