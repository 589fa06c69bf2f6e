package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// SealedValue is one sealed value, and the place it is bound to.
type SealedValue struct {
	// Place is the table. ID and Part find the row in it: Part is the name of a
	// deployment's or run's secret and the node of a token, and empty elsewhere.
	Place, ID, Part string
	Version         int
	Value           controlplane.Sealed
}

// CountValues returns how many values of each place are sealed under each master key.
func (t MasterKeys) CountValues(ctx context.Context) ([]controlplane.KeyUse, error) {
	rows, err := t.q.ListSealedUse(ctx)
	if err != nil {
		return nil, fmt.Errorf("count sealed values: %w", err)
	}
	all := make([]controlplane.KeyUse, len(rows))
	for i, r := range rows {
		all[i] = controlplane.KeyUse{Key: r.Kid, Place: r.Place, Values: r.N}
	}
	return all, nil
}

// ListValuesUnderOthers returns up to most values that are not sealed under the key.
func (t MasterKeys) ListValuesUnderOthers(
	ctx context.Context,
	kid string,
	most int,
) ([]SealedValue, error) {
	rows, err := t.q.ListSealedElsewhere(ctx, kid, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list sealed values: %w", err)
	}
	all := make([]SealedValue, len(rows))
	for i, r := range rows {
		all[i] = SealedValue{Place: r.Place, ID: r.ID, Part: r.Part, Version: int(r.Version),
			Value: r.Sealed}
	}
	return all, nil
}

// Reseal replaces a value by the same one sealed under another key. A value that
// changed meanwhile is left alone: it is under the new key already.
func (t MasterKeys) Reseal(ctx context.Context, v SealedValue, sealed controlplane.Sealed) error {
	var err error
	switch v.Place {
	case "secrets":
		_, err = t.q.ResealSecret(ctx, sealed, v.ID, v.Value)
	case "registries":
		_, err = t.q.ResealRegistry(ctx, sealed, v.ID, v.Value)
	case "node_tokens":
		_, err = t.q.ResealNodeToken(ctx, sealed, v.ID, v.Value)
	case "identity":
		_, err = t.q.ResealIdentity(ctx, sealed, v.Value)
	case "runs":
		_, err = t.q.ResealRun(ctx, sealed, v.ID, v.Value)
	case "deployment_secrets":
		_, err = t.q.ResealDeploymentSecret(ctx, dbsqlc.ResealDeploymentSecretParams{
			New: sealed, DeploymentID: v.ID, Name: v.Part, Old: v.Value})
	case "run_secrets":
		_, err = t.q.ResealRunSecret(ctx, dbsqlc.ResealRunSecretParams{
			New: sealed, RunID: v.ID, Name: v.Part, Old: v.Value})
	case "audit_head":
		_, err = t.q.ResealAuditKey(ctx, sealed, v.Value)
	case "node_ssh":
		_, err = t.q.ResealNodeSSH(ctx, sealed, v.ID, v.Value)
	case "certificates":
		_, err = t.q.ResealCertificate(ctx, sealed, v.ID, v.Value)
	case "certificate_authority":
		_, err = t.q.ResealAuthority(ctx, sealed, v.Value)
	case "outward_secrets":
		_, err = t.q.ResealOutwardSecret(ctx, sealed, v.ID, v.Value)
	case "acme_settings":
		if v.Part == "eab_key" {
			_, err = t.q.ResealACMEBinding(ctx, sealed, v.ID, v.Value)
		} else {
			_, err = t.q.ResealACMESettings(ctx, sealed, v.ID, v.Value)
		}
	case "acme_accounts":
		_, err = t.q.ResealACMEAccount(ctx, sealed, v.ID, v.Value)
	case "acme_certificates":
		_, err = t.q.ResealACMECertificate(ctx, sealed, v.ID, v.Value)
	case "second_factors":
		_, err = t.q.ResealFactor(ctx, sealed, v.ID, v.Value)
	case "verdict_key":
		_, err = t.q.ResealVerdictKey(ctx, sealed, v.Value)
	default:
		err = fmt.Errorf("no such place")
	}
	if err != nil {
		return fmt.Errorf("reseal a value of %s: %w", v.Place, err)
	}
	return nil
}

// ListChecks returns the sealed check text of each key that was ever the primary one,
// by key id.
func (t MasterKeys) ListChecks(ctx context.Context) (map[string]controlplane.Sealed, error) {
	rows, err := t.q.ListKeyChecks(ctx)
	if err != nil {
		return nil, fmt.Errorf("load key checks: %w", err)
	}
	all := make(map[string]controlplane.Sealed, len(rows))
	for _, r := range rows {
		all[r.Kid] = r.Sealed
	}
	return all, nil
}

// InsertCheck stores the known text under a key.
func (t MasterKeys) InsertCheck(ctx context.Context, kid string, sealed controlplane.Sealed) error {
	if err := t.q.InsertKeyCheck(ctx, kid, sealed); err != nil {
		return fmt.Errorf("store key check: %w", translateError(err))
	}
	return nil
}
