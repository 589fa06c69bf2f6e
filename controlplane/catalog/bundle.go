package catalog

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
)

// RunBundle is all that a node needs to know for one run.
type RunBundle struct {
	// Key encrypts what the agent must not store in plain text.
	Key []byte
	// Values holds the secrets that the run's pipeline refers to, by name.
	Values map[string]controlplane.Plain
}

// OpenRun opens the secrets that a run's pipeline refers to, for the fleet
// to send to the node that the run is assigned to; the caller has checked
// that. The first opening seals their values with the run, and later ones
// return exactly these, whatever becomes of the project's secrets. Generated
// ones stay the same for the life of the deployment. The journal notes the
// names.
func (c *Catalog) OpenRun(
	ctx context.Context, actor access.Actor, deployment controlplane.DeploymentID,
	run controlplane.Run,
) (RunBundle, error) {
	b := RunBundle{Values: map[string]controlplane.Plain{}}
	refs, err := secretRefs(run.Pipeline)
	if err != nil {
		return b, err
	}
	names := slices.Sorted(maps.Keys(refs))
	e := actor.NewAuditEntry("open secrets", "run "+string(run.ID))
	e.Project, e.Detail = run.Project, strings.Join(names, " ")
	err = c.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := keyring.RequireSystem(actor); err != nil {
			return err
		}
		if b.Key, err = c.keys.OpenRunKey(run.ID, run.Key); err != nil {
			return err
		}
		run.Deployment = deployment
		if b.Values, err = c.openRunValues(ctx, tx, run, names); err != nil {
			return err
		}
		return tx.TouchSecrets(ctx, run.Project, names, c.now())
	})
	if err != nil {
		return RunBundle{}, err
	}
	return b, nil
}

// currentValue opens the project secret's current value, or the value generated for the deployment.
// A generated value is used as long as the secret has a rule, and for runs that began before values
// were sealed with runs.
func (c *Catalog) currentValue(ctx context.Context, tx *postgres.Tx, run controlplane.Run,
	name string, made map[string]controlplane.Sealed) (controlplane.Plain, error) {
	s, ok, err := tx.SecretByName(ctx, run.Project, name)
	if err != nil {
		return controlplane.Plain{}, err
	}
	sealed, generated := made[name]
	switch {
	case generated && (!ok || s.Rule != nil || hasBegun(run)):
		return c.keys.OpenGenerated(run.Deployment, name, sealed)
	case !ok:
		return controlplane.Plain{}, &controlplane.Error{
			Kind: controlplane.Conflict, Code: "secret_missing",
			Message: "the pipeline refers to the secret " + name + ", which was deleted",
			Remedy:  "Define it again, then retry.",
		}
	case s.Vault != nil:
		return c.readVault(ctx, s)
	case s.Rule == nil:
		return c.keys.OpenSecret(s)
	default:
		return c.generateSecret(ctx, tx, run.Deployment, s)
	}
}

// hasBegun reports whether a run has fetched its values before: its node asks
// for them at the latest while it applies the run.
func hasBegun(run controlplane.Run) bool {
	switch run.Status {
	case "", controlplane.Queued, controlplane.Applying:
		return false
	default:
		return true
	}
}

func (c *Catalog) generateSecret(
	ctx context.Context, tx *postgres.Tx, deployment controlplane.DeploymentID,
	s controlplane.Secret,
) (controlplane.Plain, error) {
	text, err := generateValue(*s.Rule)
	if err != nil {
		return controlplane.Plain{}, fmt.Errorf("generate secret %s: %w", s.Name, err)
	}
	value := controlplane.NewPlain(text)
	sealed, err := c.keys.SealGenerated(deployment, s.Name, value)
	if err != nil {
		return controlplane.Plain{}, err
	}
	added, err := tx.InsertDeploymentSecret(ctx, deployment, s.Name, sealed)
	if err != nil {
		return controlplane.Plain{}, err
	}
	if added {
		return value, nil
	}
	// Another transaction stored a value between our read and our write: use that one.
	made, err := tx.DeploymentSecrets(ctx, deployment)
	if err != nil {
		return controlplane.Plain{}, err
	}
	return c.keys.OpenGenerated(deployment, s.Name, made[s.Name])
}

func alphabetLetters(a controlplane.Alphabet) (string, bool) {
	const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	switch a {
	case controlplane.Alphanumeric:
		return alphanumeric, true
	case controlplane.Hex:
		return "0123456789abcdef", true
	case controlplane.Base64URL:
		return alphanumeric + "-_", true
	default:
		return "", false
	}
}

// generateValue makes a random text by the rule, each letter equally likely.
func generateValue(rule controlplane.SecretRule) (string, error) {
	if rule.Pattern != "" {
		return generateFromPattern(rule.Pattern)
	}
	from, ok := alphabetLetters(rule.Alphabet)
	if !ok {
		return "", fmt.Errorf("unknown alphabet %q", rule.Alphabet)
	}
	return pickLetters(from, rule.Length)
}

// generateFromPattern makes a random text by a pattern.
func generateFromPattern(pattern string) (string, error) {
	parts, err := parsePattern(pattern)
	if err != nil {
		return "", fmt.Errorf("pattern %q: %w", pattern, err)
	}
	var out strings.Builder
	for _, p := range parts {
		text, err := pickLetters(p.letters, p.times)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// pickLetters takes so many of these letters, each equally likely.
func pickLetters(from string, times int) (string, error) {
	out := make([]byte, 0, times)
	b := make([]byte, 1)
	for len(out) < times {
		if _, err := rand.Read(b); err != nil {
			return "", err
		}
		if whole := 256 / len(from) * len(from); int(b[0]) < whole {
			out = append(out, from[int(b[0])%len(from)])
		}
	}
	return string(out), nil
}

// PullCredentials opens the sign-ins of the registries with these hosts;
// those read anonymously are left out.
func (c *Catalog) PullCredentials(
	ctx context.Context, actor access.Actor, hosts []string,
) (map[string]controlplane.Credentials, error) {
	all := map[string]controlplane.Credentials{}
	e := actor.NewAuditEntry("open pull credentials", "registries "+strings.Join(hosts, " "))
	err := c.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		if err := keyring.RequireSystem(actor); err != nil {
			return err
		}
		for _, host := range hosts {
			r, ok, err := tx.RegistryByHost(ctx, host)
			if err != nil {
				return err
			}
			if !ok || len(r.Password) == 0 {
				continue
			}
			password, err := c.keys.OpenPassword(r)
			if err != nil {
				return err
			}
			all[host] = controlplane.Credentials{Username: r.Username, Password: password}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
