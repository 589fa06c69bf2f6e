//go:build apps

package main_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// promptly bounds a page. A look-up that nobody answers takes five seconds and more.
const promptly = 5 * time.Second

// TestApplications_WordPress runs WordPress with MariaDB through the product: from an unchanged
// Compose file, and as a pipeline with little processor time. It needs the images that
// `make test-apps` builds.
func TestApplications_WordPress(t *testing.T) {
	p := startProduct(t, newWorld(t))
	p.applyShop(t)
	n := p.enrol(t, "apps", "qa")
	before := n.scanForLeaks(t)
	documents := p.command(t, 0, "import", "testdata/applications/wordpress.yaml",
		"--project", "blog", "--set", "REGISTRY="+p.w.registry)
	p.command(t, 0, "apply", "-f", fileOf(t, documents))
	p.command(t, 0, "apply", "-f", "testdata/applications/wordpress-project.yaml")
	for _, project := range []string{"blog", "wordpress"} {
		t.Run(project, func(t *testing.T) {
			began := time.Now()
			d := p.admin.deployReady(t, project, project, nil)
			b := &blog{product: p, url: serviceURL(t, d, "wordpress")}
			b.opens(t)
			t.Logf("%s to the first page", time.Since(began).Round(time.Second))
			n.mustBeThere(t, d.Id, "container", "network", "volume")
			looksUp(t, p, project, "db", "wordpress")
			looksUp(t, p, project, "wordpress", "db")
			b.installs(t)
			b.signsIn(t)
			p.admin.remove(t, d.Id)
			if left := n.scanForLeaks(t).AddedSince(before); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// looksUp asks inside one service for the name of another one's address.
func looksUp(t *testing.T, p *product, deployment, inside, peer string) {
	t.Helper()
	out := strings.Fields(p.command(t, 0, "exec", deployment, inside, "--", "sh", "-ec",
		`address=$(getent hosts `+peer+` | cut -d" " -f1)
		began=$(date +%s%N)
		getent hosts "$address"
		echo $((($(date +%s%N) - began) / 1000000))`))
	took, err := strconv.Atoi(out[len(out)-1])
	if err != nil || took >= 1000 || len(out) < 3 || !strings.Contains(out[1], "-"+peer+"-") {
		t.Errorf("the name of %s as %s sees it: %q", peer, inside, out)
	}
}

// blog is what a browser sees of a deployment of WordPress.
type blog struct {
	*product
	url    string
	client *http.Client
}

// opens opens the first page, which leads to the installation. The page is there before the
// database is, if nothing in the Compose file says that one waits for the other.
func (b *blog) opens(t *testing.T) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b.client = b.product.client()
	b.client.Jar, b.client.CheckRedirect = jar, nil
	eventually(t, "the first page", func() string {
		if a := b.visits(t, "/", nil); !strings.Contains(a.body, "WordPress &rsaquo; Installation") {
			return a.String()
		}
		return ""
	})
}

// visits opens a page, or sends a form to it.
func (b *blog) visits(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return sendRequest(t, b.client, r)
}

// installs fills the form of the installation.
func (b *blog) installs(t *testing.T) {
	t.Helper()
	a := b.visits(t, "/wp-admin/install.php?step=2", url.Values{"weblog_title": {"The QA blog"},
		"user_name": {"admin"}, "admin_password": {"Long-enough-1!"},
		"admin_password2": {"Long-enough-1!"}, "admin_email": {"admin@example.com"},
		"blog_public": {"0"}, "Submit": {"Install WordPress"}})
	if a.status != http.StatusOK || !strings.Contains(a.body, "WordPress has been installed") {
		t.Fatalf("the installation: %s", a)
	}
	b.visits(t, "/", nil) // the first time, PHP reads its programs
	began := time.Now()
	a = b.visits(t, "/", nil)
	if a.status != http.StatusOK || !strings.Contains(a.body, "The QA blog") {
		t.Fatalf("the blog's page: %s", a)
	}
	if took := time.Since(began); took > promptly {
		t.Errorf("the blog's page took %s", took)
	}
}

// signsIn signs in with a wrong password, which is refused, and with the right one.
func (b *blog) signsIn(t *testing.T) {
	t.Helper()
	b.visits(t, "/wp-login.php", nil)
	for password, want := range map[string]string{"wrong": "is incorrect",
		"Long-enough-1!": "Dashboard"} {
		a := b.visits(t, "/wp-login.php", url.Values{"log": {"admin"}, "pwd": {password},
			"wp-submit": {"Log In"}, "testcookie": {"1"}, "redirect_to": {b.url + "/wp-admin/"}})
		if a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("signed in with the password %q: %s", password, a)
		}
	}
}
