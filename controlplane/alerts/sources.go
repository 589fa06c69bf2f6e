package alerts

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// expiresSoon is how long before its end a certificate should have been renewed: authorities'
// last for 90 days or less, and are renewed after two thirds.
const expiresSoon = 14 * 24 * time.Hour

// Certificates finds certificates that end soon, or have ended.
func Certificates(store *postgres.Store, now func() time.Time) Source {
	return Source{Conditions: []string{"certificate.expiring", "certificate.expired"},
		Every: 5 * time.Minute,
		Find: func(ctx context.Context) (causes []controlplane.AlertCause, err error) {
			err = store.Read(ctx, func(tx *postgres.Tx) error {
				causes, err = listEndingCertificates(ctx, tx, now())
				return err
			})
			return causes, err
		}}
}

func listEndingCertificates(
	ctx context.Context, tx *postgres.Tx, now time.Time,
) (causes []controlplane.AlertCause, err error) {
	add := func(id controlplane.CertificateID, label string, end time.Time,
		env controlplane.EnvironmentID) {
		if end.IsZero() || end.After(now.Add(expiresSoon)) {
			return
		}
		c := controlplane.AlertCause{Condition: "certificate.expiring", Subject: string(id),
			Label: label, Environment: env, Detail: "on " + end.UTC().Format(time.DateOnly)}
		if !end.After(now) {
			c.Condition = "certificate.expired"
		}
		causes = append(causes, c)
	}
	uploaded, err := tx.Certificates().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range uploaded {
		add(c.ID, c.Name, c.NotAfter, "")
	}
	authority, ok, err := tx.Certificates().GetAuthority(ctx)
	if err != nil {
		return nil, err
	}
	if ok {
		add(authority.ID, "of the own authority", authority.NotAfter, "")
	}
	ordered, err := tx.ACME().ListCertificates(ctx, "")
	for _, c := range ordered {
		if c.Wanted && c.Chain != "" {
			add(c.ID, c.Subject, c.NotAfter, c.Environment)
		}
	}
	return causes, err
}

// Registries finds registries that do not answer, or refuse our credentials.
func Registries(
	check func(context.Context) (map[string]string, error),
) Source {
	return Source{Conditions: []string{"registry.failing"}, Every: time.Minute,
		Find: func(ctx context.Context) (causes []controlplane.AlertCause, err error) {
			failing, err := check(ctx)
			for name, why := range failing {
				causes = append(causes, controlplane.AlertCause{Condition: "registry.failing",
					Subject: name, Label: name, Detail: why})
			}
			return causes, err
		}}
}

// DefinitionSources finds sources of definitions of which nothing can be applied.
func DefinitionSources(store *postgres.Store) Source {
	return Source{Conditions: []string{"source.failing"}, Every: time.Minute,
		Find: func(ctx context.Context) (causes []controlplane.AlertCause, err error) {
			const most = 10_000
			var all []controlplane.DefinitionSource
			err = store.Read(ctx, func(tx *postgres.Tx) (err error) {
				all, err = tx.DefinitionSources().List(ctx, "", most)
				return err
			})
			for _, x := range all {
				if x.Active && x.State.Failure != nil {
					causes = append(causes, controlplane.AlertCause{Condition: "source.failing",
						Subject: string(x.ID), Label: x.Name, Detail: x.State.Failure.Message})
				}
			}
			return causes, err
		}}
}
