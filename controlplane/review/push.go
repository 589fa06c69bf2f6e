package review

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nullops/nullops/pipeline"
)

// readPushes reads pushes as the CNCF Distribution registry and Harbor tell
// them: several in one message. The tag is what the rule's pattern is for. Signing an
// image pushes a tag too, which is no image to deploy.
func readPushes(body []byte) (all []event, err error) {
	var e struct {
		Events []struct {
			ID     string `json:"id"`
			Action string `json:"action"`
			Target struct {
				Repository string `json:"repository"`
				Tag        string `json:"tag"`
				Digest     string `json:"digest"`
			} `json:"target"`
		} `json:"events"`
		Type string `json:"type"`
		Data struct {
			Resources []struct {
				Tag    string `json:"tag"`
				Digest string `json:"digest"`
			} `json:"resources"`
			Repository struct {
				FullName string `json:"repo_full_name"`
			} `json:"repository"`
		} `json:"event_data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, errForeign
	}
	for _, one := range e.Events {
		if one.Action == "push" && isImageTag(one.Target.Tag) {
			push := newPushEvent(one.Target.Repository, one.Target.Tag, one.Target.Digest)
			push.delivery = one.ID
			all = append(all, push)
		}
	}
	if e.Type == "PUSH_ARTIFACT" {
		for _, one := range e.Data.Resources {
			if isImageTag(one.Tag) {
				all = append(all, newPushEvent(e.Data.Repository.FullName, one.Tag, one.Digest))
			}
		}
	}
	return slices.CompactFunc(all, func(a, b event) bool {
		return a.repository == b.repository && a.tag == b.tag && a.commit == b.commit &&
			a.delivery == b.delivery
	}), nil
}

func isImageTag(tag string) bool { return tag != "" && !pipeline.IsArtifactTag(tag) }

func newPushEvent(repository, tag, digest string) event {
	return event{repository: repository, branch: tag, tag: tag,
		commit: strings.TrimPrefix(digest, "sha256:")}
}
