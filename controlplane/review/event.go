package review

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// event is a change of a pull request, or a pushed tag.
type event struct {
	repository, branch, commit, title, link, tag string
	number                                       int
	// repositoryID is the host's own, which outlives a change of the name; empty if
	// it sends none.
	repositoryID string
	// nameTaken is set when the name of the repository was another one's before,
	// whose review has the key.
	nameTaken bool
	gone      bool
	// open is set if the host showed the pull request as open in the event.
	open bool
	// step says what an event that is not gone may do to a closed pull request.
	step step
	// fork is set for what is of a fork, of which somebody has to approve each commit.
	fork bool
	// at is the host's own time of the pull request as the event shows it; zero
	// if it sends none.
	at     time.Time
	traits traits
	// outside says why the rule's filter leaves out what the event shows; empty if it does not.
	outside string
	// delivery is the id of an event that the body itself holds.
	delivery string
	// commands are what somebody wrote below the pull request; none for all other events.
	commands []command
}

// step is the part of a pull request's life that an event begins.
type step int

const (
	// updates happen to open pull requests only. One that happened after a close shows
	// that the pull request was opened again in between.
	updates step = iota
	// opens happens once, before everything else.
	opens
	// reopens is the only one that follows a close.
	reopens
)

// newReview is what the rule makes of the event, but for its deployment's name.
func (e event) newReview(rule controlplane.ReviewRule) controlplane.Review {
	want := controlplane.GoalPresent
	if e.gone || e.outside != "" {
		want = controlplane.GoalGone
	}
	return controlplane.Review{ID: controlplane.NewID[controlplane.ReviewID](), Rule: rule.ID,
		Key: e.reviewKey(), Repository: clipText(e.repository, 500), RepositoryID: e.repositoryID,
		Number: e.number,
		Title:  clipText(e.title, 300), Branch: clipText(e.branch, maxBranch),
		Commit: clipText(e.commit, 64), Link: clipText(e.link, 500), Tag: e.tagOf(rule), Want: want,
		Outside: e.outside, Fork: e.fork,
		GiveUpAt: time.Now().Add(rule.Wait), EventAt: e.at}
}

func (e event) tagOf(rule controlplane.ReviewRule) string {
	return clipText(
		strings.NewReplacer("{branch}", normalizeBranch(e.branch), "{number}", fmt.Sprint(e.number),
			"{commit}", e.commit, "{short}", clipText(e.commit, 7), "{tag}", e.tag).Replace(rule.Tag),
		128,
	)
}

func clipText(s string, most int) string {
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

// readEvents parses the events of a source. Events that are not about a pull request or a pushed
// tag are left out.
func readEvents(source controlplane.ReviewSource, h http.Header, body []byte) ([]event, error) {
	var e *event
	var err error
	switch source {
	case controlplane.ReviewGitHub:
		e, err = readHub(h.Get("X-GitHub-Event"), body)
	case controlplane.ReviewGitea:
		e, err = readHub(h.Get("X-Gitea-Event"), body)
	case controlplane.ReviewGitLab:
		e, err = readLab(body)
	case controlplane.ReviewBitbucket:
		e, err = readBitbucket(h.Get("X-Event-Key"), body)
	case controlplane.ReviewGeneric:
		e, err = readGeneric(body)
	case controlplane.ReviewRegistry:
		return readPushes(body)
	default:
		return nil, errForeign
	}
	if err != nil || e == nil {
		return nil, err
	}
	if e.number > math.MaxInt32 {
		return nil, errForeign // its column would hold the number of another one
	}
	return []event{*e}, nil
}

// readTime parses the time formats of code hosts. An invalid time, or one in the future, orders
// nothing: it would make all later events look old.
func readTime(s string) time.Time {
	layouts := []string{time.RFC3339, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			if time.Until(at) > oldest {
				return time.Time{}
			}
			return at
		}
	}
	return time.Time{}
}

// readHub reads pull request events of GitHub, and of Gitea, which uses the same form.
func readHub(kind string, body []byte) (*event, error) {
	if kind == "issue_comment" || kind == "pull_request_comment" {
		return readHubComment(body)
	}
	if kind != "pull_request" && kind != "pull_request_sync" {
		return nil, nil
	}
	type repo struct {
		ID       int64  `json:"id"`
		FullName string `json:"full_name"`
	}
	var e struct {
		Action string `json:"action"`
		Number int    `json:"number"`
		Pull   struct {
			Title   string `json:"title"`
			Link    string `json:"html_url"`
			State   string `json:"state"`
			Updated string `json:"updated_at"`
			hubTraits
			Head struct {
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
	if !slices.Contains(hubActions, e.Action) {
		return nil, nil
	}
	// An event that was delayed may show a pull request that is closed by now.
	gone := e.Action == "closed" || e.Pull.State == "closed"
	// A deleted fork has no repository.
	head := e.Pull.Head.Repo
	fork := head != nil && head.FullName != e.Repository.FullName
	if !gone && head == nil {
		return nil, nil
	}
	return &event{repository: e.Repository.FullName, repositoryID: readID(e.Repository.ID),
		number: e.Number, branch: e.Pull.Head.Ref,
		commit: e.Pull.Head.SHA, title: e.Pull.Title, link: e.Pull.Link, gone: gone, fork: fork,
		open: e.Pull.State == "open", step: stepOf(e.Action), at: readTime(e.Pull.Updated),
		traits: e.Pull.traits()}, nil
}

// hubActions are what may change the head of a pull request, or what a filter looks at.
var hubActions = []string{"opened", "reopened", "synchronize", "synchronized", "closed", "labeled",
	"unlabeled", "label_updated", "label_cleared", "edited", "ready_for_review", "converted_to_draft"}

// hubTraits are what GitHub and Gitea say of a pull request, in events and when they are asked.
type hubTraits struct {
	Draft bool `json:"draft"`
	User  struct {
		Login string `json:"login"`
	} `json:"user"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

func (h hubTraits) traits() traits {
	t := traits{target: h.Base.Ref, author: h.User.Login, draft: h.Draft, pathsUnknown: true}
	for _, l := range h.Labels {
		t.labels = append(t.labels, l.Name)
	}
	return t
}

// readID is empty for what is no id.
func readID(id int64) string {
	if id <= 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

// stepOf knows the actions of GitHub, Gitea and GitLab.
func stepOf(action string) step {
	switch action {
	case "opened", "open":
		return opens
	case "reopened", "reopen":
		return reopens
	default:
		return updates
	}
}

// readLab reads merge request events of GitLab.
func readLab(body []byte) (*event, error) {
	var e struct {
		Kind    string `json:"object_kind"`
		Project struct {
			ID   int64  `json:"id"`
			Path string `json:"path_with_namespace"`
		} `json:"project"`
		Object struct {
			IID     int    `json:"iid"`
			Action  string `json:"action"`
			State   string `json:"state"`
			Updated string `json:"updated_at"`
			Title   string `json:"title"`
			URL     string `json:"url"`
			Source  int    `json:"source_project_id"`
			Target  int    `json:"target_project_id"`
			Branch  string `json:"source_branch"`
			Onto    string `json:"target_branch"`
			Draft   bool   `json:"draft"`
			// WorkInProgress is the name of Draft in older versions.
			WorkInProgress bool  `json:"work_in_progress"`
			Author         int64 `json:"author_id"`
			Last           struct {
				ID string `json:"id"`
			} `json:"last_commit"`
		} `json:"object_attributes"`
		Labels []struct {
			Title string `json:"title"`
		} `json:"labels"`
		// User is who did this, and not always the author.
		User struct {
			ID   int64  `json:"id"`
			Name string `json:"username"`
		} `json:"user"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, errForeign
	}
	if e.Kind == "note" {
		return readLabComment(body)
	}
	o := e.Object
	closes := o.Action == "close" || o.Action == "merge"
	known := closes || o.Action == "open" || o.Action == "reopen" || o.Action == "update"
	// Labels of a merged one can be changed, which is an update too.
	gone := closes || o.State == "closed" || o.State == "merged"
	if e.Kind != "merge_request" || !known {
		return nil, nil
	}
	if o.IID <= 0 || e.Project.Path == "" {
		return nil, errForeign
	}
	t := traits{target: o.Onto, draft: o.Draft || o.WorkInProgress, pathsUnknown: true,
		author: e.User.Name, authorUnknown: e.User.ID == 0 || e.User.ID != o.Author}
	for _, l := range e.Labels {
		t.labels = append(t.labels, l.Title)
	}
	return &event{repository: e.Project.Path, repositoryID: readID(e.Project.ID), number: o.IID,
		branch: o.Branch, commit: o.Last.ID, title: o.Title, link: o.URL, gone: gone,
		fork: o.Source != o.Target, open: o.State == "opened", step: stepOf(o.Action),
		at: readTime(o.Updated), traits: t}, nil
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
		Updated    string `json:"updated_at"`

		Target string   `json:"target"`
		Author string   `json:"author"`
		Labels []string `json:"labels"`
		Draft  bool     `json:"draft"`
		Paths  []string `json:"paths"`
	}
	actions := []string{"opened", "reopened", "updated", "closed"}
	if err := json.Unmarshal(body, &e); err != nil || e.Number < 0 || e.Repository == "" ||
		e.Branch == "" || !slices.Contains(actions, e.Action) {
		return nil, errForeign
	}
	begins := updates
	if e.Action == "opened" || e.Action == "reopened" {
		begins = reopens // senders need not tell the two apart
	}
	return &event{repository: e.Repository, number: e.Number, branch: e.Branch, commit: e.Commit,
		title: e.Title, link: e.Link, tag: e.Tag, gone: e.Action == "closed",
		step: begins, at: readTime(e.Updated), traits: traits{target: e.Target, author: e.Author,
			labels: e.Labels, draft: e.Draft, paths: e.Paths}}, nil
}
