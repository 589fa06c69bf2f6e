package review

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// event is what somebody did to a pull request, or a tag that was pushed.
type event struct {
	repository, branch, commit, title, link, tag string
	number                                       int
	gone                                         bool
}

// review is what the rule makes of the event, but for its deployment's name.
func (e event) review(rule controlplane.ReviewRule) controlplane.Review {
	want := controlplane.GoalPresent
	if e.gone {
		want = controlplane.GoalGone
	}
	return controlplane.Review{ID: controlplane.NewID[controlplane.ReviewID](), Rule: rule.ID,
		Key: e.key(), Repository: clip(e.repository, 500), Number: e.number,
		Title: clip(e.title, 300), Branch: clip(e.branch, maxBranch),
		Commit: clip(e.commit, 64), Link: clip(e.link, 500), Tag: e.tagOf(rule), Want: want,
		GiveUpAt: time.Now().Add(rule.Wait)}
}

func (e event) tagOf(rule controlplane.ReviewRule) string {
	return clip(strings.NewReplacer("{branch}", flat(e.branch), "{number}", fmt.Sprint(e.number),
		"{commit}", e.commit, "{short}", clip(e.commit, 7), "{tag}", e.tag).Replace(rule.Tag), 128)
}

func clip(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// read understands the events of a source. What is none of a pull request or a
// pushed tag, or comes from a fork, is nil: nothing to do.
func read(source controlplane.ReviewSource, h http.Header, body []byte) (*event, error) {
	switch source {
	case controlplane.ReviewGitHub:
		return readHub(h.Get("X-GitHub-Event"), body)
	case controlplane.ReviewGitea:
		return readHub(h.Get("X-Gitea-Event"), body)
	case controlplane.ReviewGitLab:
		return readLab(body)
	case controlplane.ReviewGeneric:
		return readGeneric(body)
	case controlplane.ReviewRegistry:
		return readPush(body)
	default:
		return nil, errForeign
	}
}

// readHub reads what GitHub and Gitea, which follows it, tell of pull requests.
func readHub(kind string, body []byte) (*event, error) {
	if kind != "pull_request" && kind != "pull_request_sync" {
		return nil, nil
	}
	type repo struct {
		FullName string `json:"full_name"`
	}
	var e struct {
		Action string `json:"action"`
		Number int    `json:"number"`
		Pull   struct {
			Title string `json:"title"`
			Link  string `json:"html_url"`
			Head  struct {
				Ref  string `json:"ref"`
				SHA  string `json:"sha"`
				Repo *repo  `json:"repo"`
			} `json:"head"`
		} `json:"pull_request"`
		Repository repo `json:"repository"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Number <= 0 || e.Repository.FullName == "" {
		return nil, errForeign
	}
	if !slices.Contains([]string{"opened", "reopened", "synchronize", "synchronized", "closed"},
		e.Action) {
		return nil, nil
	}
	gone := e.Action == "closed"
	// A fork that was deleted has no repository any more.
	if head := e.Pull.Head.Repo; !gone && (head == nil || head.FullName != e.Repository.FullName) {
		return nil, nil
	}
	return &event{repository: e.Repository.FullName, number: e.Number, branch: e.Pull.Head.Ref,
		commit: e.Pull.Head.SHA, title: e.Pull.Title, link: e.Pull.Link, gone: gone}, nil
}

// readLab reads what GitLab tells of merge requests.
func readLab(body []byte) (*event, error) {
	var e struct {
		Kind    string `json:"object_kind"`
		Project struct {
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		Object struct {
			IID    int    `json:"iid"`
			Action string `json:"action"`
			Title  string `json:"title"`
			URL    string `json:"url"`
			Source int    `json:"source_project_id"`
			Target int    `json:"target_project_id"`
			Branch string `json:"source_branch"`
			Last   struct {
				ID string `json:"id"`
			} `json:"last_commit"`
		} `json:"object_attributes"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, errForeign
	}
	o := e.Object
	gone := o.Action == "close" || o.Action == "merge"
	known := gone || o.Action == "open" || o.Action == "reopen" || o.Action == "update"
	if e.Kind != "merge_request" || !known || !gone && o.Source != o.Target {
		return nil, nil
	}
	if o.IID <= 0 || e.Project.Path == "" {
		return nil, errForeign
	}
	return &event{repository: e.Project.Path, number: o.IID, branch: o.Branch, commit: o.Last.ID,
		title: o.Title, link: o.URL, gone: gone}, nil
}

// readGeneric reads our own form, for everything else.
func readGeneric(body []byte) (*event, error) {
	var e struct {
		Action     string `json:"action"`
		Repository string `json:"repository"`
		Number     int    `json:"number"`
		Branch     string `json:"branch"`
		Commit     string `json:"commit"`
		Title      string `json:"title"`
		Link       string `json:"link"`
		Tag        string `json:"tag"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Number < 0 || e.Repository == "" ||
		e.Branch == "" || !slices.Contains([]string{"opened", "updated", "closed"}, e.Action) {
		return nil, errForeign
	}
	return &event{repository: e.Repository, number: e.Number, branch: e.Branch, commit: e.Commit,
		title: e.Title, link: e.Link, tag: e.Tag, gone: e.Action == "closed"}, nil
}

// readPush reads pushes as the CNCF Distribution registry and Harbor tell them.
// The tag is what the rule's pattern is for. Signing an image pushes a tag too,
// which is no image to deploy.
func readPush(body []byte) (*event, error) {
	var e struct {
		Events []struct {
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
			return pushed(one.Target.Repository, one.Target.Tag, one.Target.Digest), nil
		}
	}
	if e.Type != "PUSH_ARTIFACT" {
		return nil, nil
	}
	for _, one := range e.Data.Resources {
		if isImageTag(one.Tag) {
			return pushed(e.Data.Repository.FullName, one.Tag, one.Digest), nil
		}
	}
	return nil, nil
}

func isImageTag(tag string) bool { return tag != "" && !pipeline.IsArtifactTag(tag) }

func pushed(repository, tag, digest string) *event {
	return &event{repository: repository, branch: tag, tag: tag,
		commit: strings.TrimPrefix(digest, "sha256:")}
}
