package review

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
)

// Bitbucket Cloud signs like GitHub, in another header, and has neither labels nor records of
// deployments that others may write. Its pull requests name commits by twelve digits.

// bitbucketPull is a pull request, in events and when Bitbucket is asked.
type bitbucketPull struct {
	ID     int    `json:"id"`
	Title  string `json:"title"`
	State  string `json:"state"`
	Draft  bool   `json:"draft"`
	Author struct {
		Nickname string `json:"nickname"`
	} `json:"author"`
	Source      bitbucketEnd `json:"source"`
	Destination bitbucketEnd `json:"destination"`
	Updated     string       `json:"updated_on"`
	Links       struct {
		HTML struct {
			Href string `json:"href"`
		} `json:"html"`
	} `json:"links"`
}

// bitbucketEnd is where a pull request comes from, or goes to. A deleted fork has no repository.
type bitbucketEnd struct {
	Branch struct {
		Name string `json:"name"`
	} `json:"branch"`
	Commit struct {
		Hash string `json:"hash"`
	} `json:"commit"`
	Repository *bitbucketRepository `json:"repository"`
}

type bitbucketRepository struct {
	UUID     string `json:"uuid"`
	FullName string `json:"full_name"`
}

func (p bitbucketPull) isOpen() bool { return p.State == "OPEN" }

func (p bitbucketPull) traits() traits {
	return traits{target: p.Destination.Branch.Name, author: p.Author.Nickname, draft: p.Draft,
		pathsUnknown: true}
}

// readBitbucket reads pull request events of Bitbucket Cloud, and comments below them.
func readBitbucket(kind string, body []byte) (*event, error) {
	steps := map[string]step{"pullrequest:created": opens, "pullrequest:updated": updates,
		"pullrequest:fulfilled": updates, "pullrequest:rejected": updates}
	begins, known := steps[kind]
	comment := kind == "pullrequest:comment_created"
	if !known && !comment {
		return nil, nil
	}
	var e struct {
		Pull       bitbucketPull       `json:"pullrequest"`
		Repository bitbucketRepository `json:"repository"`
		Comment    struct {
			Content struct {
				Raw string `json:"raw"`
			} `json:"content"`
			User struct {
				UUID     string `json:"uuid"`
				Nickname string `json:"nickname"`
			} `json:"user"`
		} `json:"comment"`
	}
	if err := json.Unmarshal(body, &e); err != nil || e.Pull.ID <= 0 || e.Pull.ID > math.MaxInt32 ||
		e.Repository.FullName == "" {
		return nil, errForeign
	}
	p, head := e.Pull, e.Pull.Source.Repository
	about := event{repository: e.Repository.FullName, repositoryID: e.Repository.UUID, number: p.ID}
	if comment {
		about.commands = readCommands(e.Comment.Content.Raw, e.Comment.User.Nickname,
			e.Comment.User.UUID)
		if len(about.commands) == 0 {
			return nil, nil
		}
		return &about, nil
	}
	gone := !p.isOpen()
	if !gone && head == nil {
		return nil, nil
	}
	about.branch, about.commit, about.title = p.Source.Branch.Name, p.Source.Commit.Hash, p.Title
	about.link, about.gone, about.open, about.step = p.Links.HTML.Href, gone, !gone, begins
	about.fork = head != nil && head.FullName != e.Repository.FullName
	about.at, about.traits = readTime(p.Updated), p.traits()
	return &about, nil
}

// bitbucketPath is the path of a pull request.
func (h codeHost) bitbucketPath(x controlplane.Review) string {
	return fmt.Sprintf("/repositories/%s/pullrequests/%d", h.repositoryPath(x), x.Number)
}

func (h codeHost) bitbucketState(
	ctx context.Context, x controlplane.Review,
) (now present, err error) {
	var said bitbucketPull
	if err := h.callAPI(ctx, http.MethodGet, h.bitbucketPath(x), nil, &said); err != nil {
		return now, fmt.Errorf("ask for the state: %w", err)
	}
	closed := []string{"MERGED", "DECLINED", "SUPERSEDED"}
	return present{closed: slices.Contains(closed, said.State), open: said.isOpen(),
		commit: clipText(said.Source.Commit.Hash, 64), branch: said.Source.Branch.Name,
		at: readTime(said.Updated), traits: said.traits()}, nil
}

// maxStatusKey is the most that the key of a build status has.
const maxStatusKey = 40

// postBitbucketStatus sends a build status, which needs a link.
func (h codeHost) postBitbucketStatus(
	ctx context.Context, x controlplane.Review, s commitStatus,
) error {
	state := map[string]string{statusSuccess: "SUCCESSFUL", statusFailure: "FAILED",
		statusPending: "INPROGRESS"}[s.state]
	target := s.target
	if target == "" {
		target = h.reviews.URL
	}
	path := "/repositories/" + h.repositoryPath(x) + "/commit/" + url.PathEscape(x.Commit) +
		"/statuses/build"
	err := h.callAPI(ctx, http.MethodPost, path, map[string]string{"state": state,
		"key": clipText(s.name, maxStatusKey), "name": s.name, "url": target,
		"description": clipText(s.words, 130)}, nil)
	return h.checkStatus(ctx, s, err)
}

// mayWriteOnBitbucket asks what a user may do in the repository.
func (h codeHost) mayWriteOnBitbucket(
	ctx context.Context, x controlplane.Review, c controlplane.ReviewCommand,
) (bool, error) {
	workspace, name, _ := strings.Cut(h.repositoryPath(x), "/")
	query := url.Values{"q": {fmt.Sprintf("user.uuid=%q", c.AuthorID)}}
	var said struct {
		Values []struct {
			Permission string `json:"permission"`
			User       struct {
				UUID string `json:"uuid"`
			} `json:"user"`
		} `json:"values"`
	}
	err := h.callAPI(ctx, http.MethodGet, "/workspaces/"+workspace+"/permissions/repositories/"+name+
		"?"+query.Encode(), nil, &said)
	if isRefused(err) {
		return false, nil // a repository that the token does not know, or no admin's token
	}
	for _, v := range said.Values {
		// A server that does not filter must not lend anybody else's rights.
		if c.AuthorID != "" && v.User.UUID == c.AuthorID {
			return v.Permission == "write" || v.Permission == "admin", err
		}
	}
	return false, err
}

// checkBitbucket refuses what Bitbucket Cloud cannot say.
func checkBitbucket(rule controlplane.ReviewRule) error {
	if rule.Source != controlplane.ReviewBitbucket {
		return nil
	}
	const code, remedy = "filter_impossible", "Remove these entries, or choose pull requests by " +
		"branch, target or author."
	if len(rule.Filter.Labels) > 0 {
		return controlplane.NewInvalidError("filter.labels", code,
			"pull requests on Bitbucket have no labels", remedy)
	}
	if len(rule.Filter.Paths) > 0 {
		return controlplane.NewInvalidError("filter.paths", code,
			"the changed files are not asked of Bitbucket", remedy)
	}
	return nil
}
