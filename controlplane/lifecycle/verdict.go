package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/intoto"
)

const (
	// mostVerdicts is more than people say about one deployment.
	mostVerdicts = 100
	// maxRemarks is in bytes.
	maxRemarks = 2000
)

// VerdictRequest is what a tester says, of the images that they tested.
type VerdictRequest struct {
	Outcome   controlplane.VerdictOutcome
	Remarks   string
	DigestSet string
}

// VerdictsView is what was said of a deployment, and whether the actor may say more now.
type VerdictsView struct {
	Items []controlplane.Verdict
	// DigestSet is the set of images that the deployment runs.
	DigestSet string
	// Refused is nil if the actor may say one now.
	Refused error
}

// ListVerdicts lists what QA said about a deployment, the newest first.
func (l *Lifecycle) ListVerdicts(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (v VerdictsView, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		v.DigestSet = controlplane.DigestSet(d.Versions)
		v.Refused = mayGiveVerdict(actor, d)
		v.Items, err = tx.Verdicts().List(ctx, id, mostVerdicts)
		return err
	})
	return v, err
}

// GetVerdict loads one verdict of a deployment.
func (l *Lifecycle) GetVerdict(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, verdict controlplane.VerdictID,
) (v controlplane.Verdict, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := readDeployment(ctx, tx, actor, id); err != nil {
			return err
		}
		if !controlplane.ValidID(string(verdict)) {
			return controlplane.NewNotFoundError("verdict", string(verdict))
		}
		v, err = tx.Verdicts().Get(ctx, id, verdict)
		return err
	})
	return v, err
}

// ListVerdictKeys returns the public keys that verify verdicts: first the one that signs now, then
// those that signed before, newest first.
func (l *Lifecycle) ListVerdictKeys(
	ctx context.Context, actor access.Actor,
) (all []controlplane.VerdictKey, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		_, now, err := l.keys.VerdictSigner(ctx, tx)
		if err != nil {
			return err
		}
		former, err := tx.Verdicts().ListFormerKeys(ctx)
		all = append([]controlplane.VerdictKey{now}, former...)
		return err
	})
	return all, err
}

func mayGiveVerdict(actor access.Actor, d controlplane.Deployment) error {
	if err := access.Check(actor, access.GiveVerdict, accessObject(d)); err != nil {
		return err
	}
	if d.Status != controlplane.Ready || d.Goal != controlplane.GoalPresent {
		return wrongState(d, "judged", "Wait until it is ready.")
	}
	return nil
}

// GiveVerdict stores what a tester says about the images that a ready deployment runs. It is signed
// at once, and attached to the images in their registries later.
func (l *Lifecycle) GiveVerdict(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, r VerdictRequest) (v controlplane.Verdict, err error) {
	entry := actor.NewAuditEntry("give verdict", "deployment "+string(id))
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		d, err := lockJudged(ctx, tx, actor, id, entry)
		if err != nil {
			return err
		}
		if err := checkVerdict(d, &r); err != nil {
			return err
		}
		if v, err = l.signVerdict(ctx, tx, actor, d, r); err != nil {
			return err
		}
		entry.Detail = fmt.Sprintf("%s, images %.12s", v.Outcome, v.DigestSet)
		if err := tx.Verdicts().Insert(ctx, v); err != nil {
			return err
		}
		if v, err = tx.Verdicts().Get(ctx, id, v.ID); err != nil {
			return err
		}
		return notifyChanged(ctx, tx, d)
	})
	return v, err
}

// lockJudged reads a deployment that the actor may judge, and keeps it as it is.
func lockJudged(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.DeploymentID, entry *controlplane.AuditEntry) (controlplane.Deployment, error) {
	d, err := readDeployment(ctx, tx, actor, id)
	if err != nil {
		return d, err
	}
	entry.Object = "deployment " + d.Name
	entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
	if _, err := tx.Deployments().Lock(ctx, id); err != nil {
		return d, err
	}
	if d, err = tx.Deployments().Get(ctx, id); err != nil {
		return d, err
	}
	return d, mayGiveVerdict(actor, d)
}

func checkVerdict(d controlplane.Deployment, r *VerdictRequest) error {
	r.Remarks = strings.TrimSpace(r.Remarks)
	switch {
	case r.DigestSet != controlplane.DigestSet(d.Versions):
		return controlplane.NewConflictError("images_changed",
			"deployment "+d.Name+" runs other images than those that were tested",
			"Load it again, and test what it runs now.")
	case r.Outcome == controlplane.VerdictRemarks && r.Remarks == "":
		return controlplane.NewInvalidError("remarks", "remarks_missing",
			"a verdict with remarks has none", "Write what people should know.")
	case len(r.Remarks) > maxRemarks:
		return controlplane.NewInvalidError("remarks", "too_long",
			fmt.Sprintf("remarks have at most %d bytes", maxRemarks), "Shorten them.")
	}
	return nil
}

// signVerdict makes the verdict with its signed statement, which names all images together.
func (l *Lifecycle) signVerdict(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, r VerdictRequest) (v controlplane.Verdict, err error) {
	v = controlplane.Verdict{ID: controlplane.NewID[controlplane.VerdictID](), Deployment: d.ID,
		Run: d.Run, Outcome: r.Outcome, Remarks: r.Remarks, DigestSet: r.DigestSet,
		User: actor.UserID(), Author: actor.Name()}
	if v.At, err = tx.DatabaseTime(ctx); err != nil {
		return v, err
	}
	statement := intoto.Statement{Type: intoto.StatementType,
		PredicateType: controlplane.VerdictPredicate, Predicate: newTestResult(d, v)}
	for _, reference := range controlplane.ImageReferences(d.Versions) {
		image, digest, _ := strings.Cut(reference, "@")
		algorithm, sum, ok := strings.Cut(digest, ":")
		if !ok {
			return v, wrongState(d, "judged", "Its images have no digests.")
		}
		v.Images = append(v.Images, controlplane.VerdictImage{Image: image, Digest: digest})
		statement.Subject = append(statement.Subject,
			intoto.Subject{Name: image, Digest: map[string]string{algorithm: sum}})
	}
	if len(v.Images) == 0 {
		return v, wrongState(d, "judged", "It runs no images.")
	}
	key, _, err := l.keys.VerdictSigner(ctx, tx)
	if err != nil {
		return v, err
	}
	v.Bundle, err = intoto.Sign(key, statement)
	return v, err
}

// testResult is the predicate of in-toto's test-result, with what is ours beside it: readers leave
// out what they do not know.
type testResult struct {
	Result        string               `json:"result"`
	Configuration []resourceDescriptor `json:"configuration"`
	Remarks       string               `json:"remarks,omitempty"`
	TestedBy      string               `json:"testedBy"`
	TestedAt      time.Time            `json:"testedAt"`
	Deployment    string               `json:"deployment"`
	Project       string               `json:"project"`
	Environment   string               `json:"environment"`
	Run           int                  `json:"run"`
	DigestSet     string               `json:"digestSet"`
}

// resourceDescriptor names what the images ran with.
type resourceDescriptor struct {
	Name string `json:"name"`
	URI  string `json:"uri"`
}

func newTestResult(d controlplane.Deployment, v controlplane.Verdict) testResult {
	result := map[controlplane.VerdictOutcome]string{controlplane.VerdictPassed: "PASSED",
		controlplane.VerdictRemarks: "WARNED", controlplane.VerdictFailed: "FAILED"}[v.Outcome]
	return testResult{Result: result, Remarks: v.Remarks, TestedBy: v.Author,
		TestedAt: v.At.UTC(), Deployment: d.Name, Project: d.Project, Environment: d.Environment,
		Run: v.Run, DigestSet: v.DigestSet, Configuration: []resourceDescriptor{{
			Name: "pipeline", URI: fmt.Sprintf("nullops:%s/pipeline/%d", d.Project, d.Version)}}}
}
