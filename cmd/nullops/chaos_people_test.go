//go:build chaos

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// deedTime is how long a person tries to get an answer.
const deedTime = 8 * time.Second

// act does what a person wants, and tells how it went.
func (c *chaos) act(d deed) {
	ctx, stop := context.WithTimeout(c.ctx, deedTime)
	defer stop()
	p := c.people[d.who]
	a := c.perform(ctx, p, d)
	text := strings.ReplaceAll(problemOf(a), "\n", "; ")
	c.say("round %d: %s: %s s%d: %d %s", c.round, d.who, d.verb, d.slot, a.status, text)
	if a.status/100 == 2 {
		c.count(d.verb)
	}
	switch {
	case a.status == http.StatusInternalServerError:
		c.violate("%s: the answer is %s", d, a.body)
	case d.verb == "trespass" && a.status/100 == 2:
		c.violate("%s: who may only read was allowed to: %s", d, a.body)
	}
}

func (c *chaos) perform(ctx context.Context, who *person, d deed) answer {
	name := fmt.Sprintf("s%d", d.slot)
	key := fmt.Sprintf("%d-%d-%s", c.seed, c.round, d)
	if d.verb == "create" {
		tags := map[string]string{"web": d.tag}
		return c.request(ctx, who, d.through, http.MethodPost, "/deployments", object{"name": name,
			"project": d.project, "environment": "qa", "versions": tags}, key)
	}
	found, id := c.find(ctx, who, d.through, name)
	switch {
	case id == "" && found.status == http.StatusOK:
		return answer{status: http.StatusNotFound, body: "there is none"}
	case id == "":
		return found
	}
	path := "/deployments/" + id
	switch d.verb {
	case "remove":
		return c.request(ctx, who, d.through, http.MethodDelete, path, nil, "")
	case "clone":
		return c.clone(ctx, who, d, found, key)
	case "trespass":
		return c.request(ctx, who, d.through, http.MethodDelete, path, nil, "")
	default:
		return c.request(ctx, who, d.through, http.MethodPost, path+"/"+d.verb, nil, "")
	}
}

// clone makes another one like it, in the next slot.
func (c *chaos) clone(ctx context.Context, who *person, d deed, found answer, key string) answer {
	var list apiclient.DeploymentList
	if err := json.Unmarshal([]byte(found.body), &list); err != nil {
		return answer{status: -1, body: err.Error()}
	}
	tags := map[string]string{}
	for _, v := range list.Items[0].Versions {
		tags[v.Step] = v.Tag
	}
	return c.request(ctx, who, d.through, http.MethodPost, "/deployments", object{
		"name": fmt.Sprintf("s%d", (d.slot+1)%chaosSlots), "project": list.Items[0].Project,
		"environment": "qa", "versions": tags, "cloned_from": list.Items[0].Id}, key)
}

// find looks a deployment up by its name. Without an id, the answer says why.
func (c *chaos) find(ctx context.Context, who *person, through int, name string) (answer, string) {
	a := c.request(ctx, who, through, http.MethodGet, "/deployments?name="+url.QueryEscape(name),
		nil, "")
	var list apiclient.DeploymentList
	if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &list) != nil ||
		len(list.Items) == 0 {
		return a, ""
	}
	return a, list.Items[0].Id
}

// request asks one control plane, then the other, until one of them answers with something
// else than that it cannot now. A key makes it safe to ask again for a new deployment; all else
// may be asked for twice.
func (c *chaos) request(ctx context.Context, who *person, through int, method, path string,
	body any, key string) (a answer) {
	for try := through; ; try++ {
		a = c.ask(ctx, who, c.urls[try%len(c.urls)], method, path, body, key)
		if a.status != -1 && a.status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return a
		}
		select {
		case <-ctx.Done():
			return a
		case <-time.After(300 * time.Millisecond):
		}
	}
}

func (c *chaos) ask(ctx context.Context, who *person, server, method, path string, body any,
	key string) answer {
	// A control plane that is frozen never answers: the other one gets its turn.
	ctx, stop := context.WithTimeout(ctx, deedTime/2)
	defer stop()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{status: -1, body: err.Error()}
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, server+"/api/v1"+path, content)
	if err != nil {
		return answer{status: -1, body: err.Error()}
	}
	r.Header.Set("Authorization", "Bearer "+who.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return sendRequest(c.t, c.client, r)
}

// problemOf is the sentence of an answer that is a problem.
func problemOf(a answer) string {
	var p apiclient.Problem
	switch {
	case a.status == -1:
		return a.body
	case a.status < 400 || json.Unmarshal([]byte(a.body), &p) != nil:
		return ""
	}
	text := p.Code + ": " + textOf(p.Detail)
	if p.Problems != nil {
		for _, more := range *p.Problems {
			text += "; " + more.Message
		}
	}
	if p.Placement != nil {
		for _, more := range *p.Placement {
			text += "; " + more.Node + ": " + more.Reason
		}
	}
	return text
}
