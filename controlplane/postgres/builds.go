package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// GetBuildFacts returns what a deployment runs, who made it and what for.
func (t Deployments) GetBuildFacts(
	ctx context.Context, id controlplane.DeploymentID,
) (f controlplane.BuildFacts, err error) {
	r, err := t.q.GetBuildFacts(ctx, string(id))
	if err != nil {
		return f, fmt.Errorf("load build facts: %w",
			translateMissing(err, "deployment", string(id)))
	}
	f = controlplane.BuildFacts{
		Deployment: id, Name: r.Name, Project: r.Project, Environment: r.Environment,
		Status:    controlplane.DeploymentStatus(r.Status),
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, Run: int(r.Run),
		PipelineVersion: int(r.PipelineVersion),
	}
	if r.ExpiresAt.Unix() != 0 {
		f.ExpiresAt = &r.ExpiresAt
	}
	if r.ReviewBranch != "" {
		f.Review = &controlplane.ReviewFacts{Number: int(r.ReviewNumber), Title: r.ReviewTitle,
			Link: r.ReviewLink, Branch: r.ReviewBranch, Commit: r.ReviewCommit}
	}
	if r.Verdict != "" {
		f.Verdict = &controlplane.Verdict{Outcome: controlplane.VerdictOutcome(r.Verdict),
			Author: r.VerdictBy, At: r.VerdictAt}
	}
	var versions []controlplane.ServiceVersion
	if err := decodeJSON(r.Versions, &versions); err != nil {
		return f, fmt.Errorf("versions of deployment %s: %w", id, err)
	}
	for _, v := range versions {
		if !v.Job {
			f.Services = append(f.Services, controlplane.ServiceBuild{ServiceVersion: v})
		}
	}
	return f, nil
}

// ListVersions returns what each deployment that is there runs.
func (t Deployments) ListVersions(
	ctx context.Context,
) (map[controlplane.DeploymentID][]controlplane.ServiceVersion, error) {
	rows, err := t.q.ListDeploymentVersions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list versions: %w", err)
	}
	all := make(map[controlplane.DeploymentID][]controlplane.ServiceVersion, len(rows))
	for _, r := range rows {
		var versions []controlplane.ServiceVersion
		if err := decodeJSON(r.Versions, &versions); err != nil {
			return nil, fmt.Errorf("versions of deployment %s: %w", r.ID, err)
		}
		all[controlplane.DeploymentID(r.ID)] = versions
	}
	return all, nil
}
