package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// name is the demo's deployment.
const name = "first"

// answers asks whether the UI is there.
func (p *product) answers(ctx context.Context) error {
	_, _, err := p.get(ctx, p.uiURL+"/readyz")
	return err
}

func (p *product) nodeOnline(ctx context.Context) error {
	out, err := p.nullops(ctx, nil, "node", "list", "--json")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var nodes []struct{ Name, Status, StatusDetail string }
	if err := json.Unmarshal([]byte(out), &nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if n.Name == "demo" && n.Status == "online" {
			return nil
		}
	}
	return fmt.Errorf("it is not online: %s", out)
}

// deploy creates the deployment again, so that every step can be seen.
func (p *product) deploy(ctx context.Context) error {
	if out, err := p.nullops(ctx, nil, "show", name, "--env", "qa"); err == nil && out != "" {
		if err := p.clear(ctx); err != nil {
			return err
		}
	}
	return p.say(ctx, nil, "deploy", "shop", "--env", "qa", "--name", name,
		"--set", "api=v1.2.0-rc.1", "--set", "web=feat-cart-redesign-51d0e7b")
}

// clear removes what an earlier demo left in the database. Its Docker Engine may
// be gone, and with it the servers that plugins would tidy up: then there is
// nothing left to remove, and the deployment is forgotten.
func (p *product) clear(ctx context.Context) error {
	if p.say(ctx, nil, "remove", name, "--env", "qa") == nil {
		return nil
	}
	fmt.Println("   the Docker Engine of the earlier demo is gone, so there is nothing to undo")
	return p.say(ctx, nil, "forget", name, "--env", "qa")
}

// open asks every URL of the deployment itself.
func (p *product) open(ctx context.Context) error {
	out, err := p.nullops(ctx, nil, "show", name, "--env", "qa", "--json")
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var d struct {
		Services []struct{ Step, URL string }
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		return err
	}
	for _, s := range d.Services {
		if s.URL == "" {
			continue
		}
		if s.Step == "web" {
			p.webURL = s.URL
		}
		path, want := "/", "Green tea"
		if s.Step == "api" {
			path = "/products"
		}
		if err := p.expect(ctx, s.URL+path, http.StatusOK, want); err != nil {
			return err
		}
	}
	if p.webURL == "" {
		return errors.New("the service web has no URL")
	}
	return p.expect(ctx, strings.Replace(p.webURL, "web.", "nobody.", 1)+"/",
		http.StatusNotFound, "")
}

// expect is one check: a URL, a status, and a text on the page.
func (p *product) expect(ctx context.Context, url string, status int, text string) error {
	got, body, err := p.get(ctx, url)
	if err != nil && got == 0 {
		return err
	}
	if got != status || !strings.Contains(body, text) {
		return fmt.Errorf("%s answered %d, wanted %d with %q:\n%.500s", url, got, status, text, body)
	}
	fmt.Printf("   ok: %s answers %d", url, got)
	if text != "" {
		fmt.Printf(" and shows %q", text)
	}
	fmt.Println()
	return nil
}

// get asks a *.localhost URL. Such names are this machine's by definition, but
// not every resolver knows it.
func (p *product) get(ctx context.Context, url string) (int, string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+portOf(address))
		}}}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err == nil && response.StatusCode >= 500 {
		err = errors.New(response.Status)
	}
	return response.StatusCode, string(body), err
}

// remove deletes the deployment and then asks Docker for anything left of it.
func (p *product) remove(ctx context.Context) error {
	if err := p.say(ctx, nil, "remove", name, "--env", "qa"); err != nil {
		return err
	}
	install, err := readInstall(p.dir)
	if err != nil {
		return err
	}
	for _, kind := range objectKinds {
		left, err := listObjects(ctx, engine{Docker: p.docker}, kind, install, deploymentLabel)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("docker %s still lists %v", strings.Join(kind.list, " "), left)
		}
		fmt.Printf("   ok: docker %s lists nothing of it\n", strings.Join(kind.list, " "))
	}
	return p.expect(ctx, p.webURL+"/", http.StatusGone, "was removed")
}
