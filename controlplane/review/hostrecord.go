package review

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/nullops/nullops/controlplane"
)

// GitHub and GitLab have records of deployments, which they show beside a pull request with a link
// to the environment. Gitea has none; its pull requests have the comment and the status.

// postRecord brings the code host's record of a review's deployment up to date. A token that may
// not do that is no fault of the review, and neither is a commit that was pushed away.
func (h codeHost) postRecord(
	ctx context.Context, x *controlplane.Review, links []string,
) (err error) {
	post := func(context.Context, *controlplane.Review, []string) error { return nil }
	switch h.rule.Source {
	case controlplane.ReviewGitHub:
		post = h.postHubRecord
	case controlplane.ReviewGitLab:
		post = h.postLabRecord
	}
	before := x.HostRecord
	if err = post(ctx, x, links); isRefused(err) && before != "" && x.HostRecord == before {
		// Somebody deleted it there.
		x.HostRecord, x.HostCommit = "", ""
		err = post(ctx, x, links)
	}
	if isRefused(err) || isInvalid(err) {
		h.reviews.Log.InfoContext(ctx, "the code host keeps no record of a deployment", "rule",
			h.rule.Name, "error", err)
		return nil
	}
	return err
}

// recordName is the environment's name on the code host.
func (h codeHost) recordName(x controlplane.Review) string {
	return h.rule.Environment + "/" + x.Deployment
}

func (h codeHost) postHubRecord(
	ctx context.Context, x *controlplane.Review, links []string,
) error {
	base := "/repos/" + h.repositoryPath(*x) + "/deployments"
	// A failed update leaves the record of the build that still answers as it is.
	keeps := x.State == controlplane.ReviewFailed && x.HostRecord != "" && x.HostCommit != x.Commit
	if x.HostRecord != "" && !keeps &&
		(x.State == controlplane.ReviewRemoved || x.HostCommit != x.Commit) {
		err := h.callAPI(ctx, http.MethodPost, base+"/"+url.PathEscape(x.HostRecord)+"/statuses",
			map[string]any{"state": "inactive"}, nil)
		if err != nil && !isRefused(err) {
			return fmt.Errorf("end the deployment: %w", err)
		}
		x.HostRecord, x.HostCommit = "", ""
	}
	if x.State == controlplane.ReviewRemoved || x.Commit == "" || keeps {
		return nil
	}
	if x.HostRecord == "" {
		var made struct {
			ID int64 `json:"id"`
		}
		err := h.callAPI(ctx, http.MethodPost, base, map[string]any{"ref": x.Commit,
			"environment": h.recordName(*x), "description": "NullOps: " + x.Deployment,
			"auto_merge": false, "required_contexts": []string{}, "transient_environment": true,
			"production_environment": false}, &made)
		if err == nil && made.ID == 0 {
			err = errors.New("the answer has no id")
		}
		if err != nil {
			return fmt.Errorf("create the deployment: %w", err)
		}
		x.HostRecord, x.HostCommit = strconv.FormatInt(made.ID, 10), x.Commit
	}
	status := map[string]any{"state": "failure", "auto_inactive": false,
		"description": clipText(x.Detail, 130)}
	if len(links) > 0 {
		status["log_url"] = links[len(links)-1]
	}
	if x.State == controlplane.ReviewReady {
		if status["state"] = "success"; len(links) > 1 {
			status["environment_url"] = links[0]
		}
	}
	err := h.callAPI(ctx, http.MethodPost, base+"/"+url.PathEscape(x.HostRecord)+"/statuses", status,
		nil)
	if err != nil {
		return fmt.Errorf("the deployment's status: %w", err)
	}
	return nil
}

func (h codeHost) postLabRecord(
	ctx context.Context, x *controlplane.Review, links []string,
) error {
	base := "/projects/" + h.repositoryPath(*x)
	if x.State == controlplane.ReviewRemoved {
		if x.HostRecord == "" {
			return nil
		}
		err := h.callAPI(ctx, http.MethodPost,
			base+"/environments/"+url.PathEscape(x.HostRecord)+"/stop", map[string]any{}, nil)
		if err == nil || isRefused(err) {
			x.HostRecord, x.HostCommit = "", ""
		}
		return err
	}
	if x.Commit == "" {
		return nil
	}
	status := "failed"
	if x.State == controlplane.ReviewReady {
		status = "success"
	}
	if x.HostCommit != x.Commit+" "+status {
		var made struct {
			Environment struct {
				ID int64 `json:"id"`
			} `json:"environment"`
		}
		err := h.callAPI(ctx, http.MethodPost, base+"/deployments", map[string]any{
			"environment": h.recordName(*x), "sha": x.Commit, "ref": x.Branch, "tag": false,
			"status": status}, &made)
		if err == nil && made.Environment.ID == 0 {
			err = errors.New("the answer has no environment")
		}
		if err != nil {
			return fmt.Errorf("create the deployment: %w", err)
		}
		x.HostRecord = strconv.FormatInt(made.Environment.ID, 10)
		x.HostCommit = x.Commit + " " + status
	}
	if status != "success" || len(links) < 2 {
		return nil
	}
	err := h.callAPI(ctx, http.MethodPut, base+"/environments/"+url.PathEscape(x.HostRecord),
		map[string]any{"external_url": links[0]}, nil)
	if err != nil {
		return fmt.Errorf("the environment's address: %w", err)
	}
	return nil
}
