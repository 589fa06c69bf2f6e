package alerts

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Evaluate finds the causes that are there now, and starts and ends alerts.
func (a *Alerts) Evaluate(ctx context.Context) error {
	var causes []controlplane.AlertCause
	judged := a.storedConditions()
	for i, s := range a.Sources {
		if a.Now().Before(a.due[i]) {
			continue
		}
		a.due[i] = a.Now().Add(s.Every)
		found, err := s.Find(ctx)
		if err != nil {
			a.Log.WarnContext(ctx, "causes of alerts are not known", "conditions", s.Conditions,
				"error", err)
			continue
		}
		causes, judged = append(causes, found...), append(judged, s.Conditions...)
	}
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
	for _, c := range causes {
		rule, ok := controlplane.FindAlertRule(c.Condition)
		if !ok {
			a.Log.ErrorContext(ctx, "a cause has no rule", "condition", c.Condition)
			continue
		}
		if err := tx.Alerts().Start(ctx, c, rule.Severity, a.Delay(rule)); err != nil {
			return err
		}
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
