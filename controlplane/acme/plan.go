package acme

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mholt/acmez/v3/acme"
	"golang.org/x/net/publicsuffix"

	"github.com/nullops/nullops/controlplane"
)

const (
	week = 7 * 24 * time.Hour
	// mostPerWeek stays below the 50 first certificates that Let's Encrypt gives
	// to one registered domain within a week.
	mostPerWeek = 40
	// mostNames is how many names one certificate may have there.
	mostNames = 100
	// maxError bounds what an authority may fill our table with.
	maxError = 2000
)

// wantedCertificates is what there should be. Pure.
func wantedCertificates(
	zones []controlplane.ACMEZone, hosts []controlplane.ACMEHost, uiHost string,
) []controlplane.ACMECertificate {
	var all []controlplane.ACMECertificate
	if z, ok := zoneOf(zones, uiHost); ok {
		all = append(all, newCertificate(z, uiHost))
	}
	for _, z := range zones {
		if z.Challenge == controlplane.ChallengeDNS {
			suffix := z.Name + "." + z.Domain
			all = append(all, newCertificate(z, "*."+z.Domain), newCertificate(z, "*."+suffix))
			for _, d := range byDeployment(z, hosts) {
				all = append(all, newCertificate(z, "*."+d.name+"."+suffix))
			}
			continue
		}
		for _, d := range byDeployment(z, hosts) {
			all = append(all, newCertificate(z, d.hosts...))
		}
	}
	return all
}

// zoneOf is whose authority and challenge the UI's certificate is ordered with: the environment
// whose domain the host is in, the longest domain if there are several, and any other only if it
// is the only one, as where deployments have a domain of their own.
func zoneOf(zones []controlplane.ACMEZone, host string) (z controlplane.ACMEZone, ok bool) {
	if host == "" {
		return z, false
	}
	for _, one := range zones {
		if (host == one.Domain || strings.HasSuffix(host, "."+one.Domain)) &&
			len(one.Domain) > len(z.Domain) {
			z, ok = one, true
		}
	}
	if !ok && len(zones) == 1 {
		return zones[0], true
	}
	return z, ok
}

// dueIn is where something is to be ordered now. Pure.
func dueIn(
	zones []controlplane.ACMEZone, all []controlplane.ACMECertificate, now time.Time,
) (due []controlplane.ACMEZone) {
	for _, z := range zones {
		if slices.ContainsFunc(all, func(c controlplane.ACMECertificate) bool {
			return c.Environment == z.Environment && c.Wanted && !c.NextTry.After(now)
		}) {
			due = append(due, z)
		}
	}
	return due
}

func newCertificate(z controlplane.ACMEZone, names ...string) controlplane.ACMECertificate {
	return controlplane.ACMECertificate{
		ID: controlplane.NewID[controlplane.CertificateID](), Environment: z.Environment,
		Subject: names[0], Names: names}
}

type deployment struct {
	name  string
	hosts []string
}

// byDeployment gathers hosts, the shortest first: it is the name that people
// know the deployment by.
func byDeployment(z controlplane.ACMEZone, hosts []controlplane.ACMEHost) []deployment {
	var all []deployment
	for _, h := range hosts {
		if h.Environment != z.Environment {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != h.Deployment {
			all = append(all, deployment{name: h.Deployment})
		}
		last := &all[len(all)-1]
		last.hosts = append(last.hosts, h.Host)
	}
	for i := range all {
		slices.SortFunc(all[i].hosts, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
		})
		all[i].hosts = all[i].hosts[:min(len(all[i].hosts), mostNames)]
	}
	return all
}

// renewalTime is when a certificate is ordered again: after two thirds of its life.
func renewalTime(f controlplane.CertificateFacts) time.Time {
	return f.NotBefore.Add(f.NotAfter.Sub(f.NotBefore) / 3 * 2)
}

// retryDelay doubles up to a day. Authorities allow five failed tries an hour; after a
// rate limit the delay is at least six hours.
func retryDelay(failures int, err error) time.Duration {
	wait := min(15*time.Minute<<min(failures-1, 10), 24*time.Hour)
	var p acme.Problem
	if errors.As(err, &p) && p.Type == acme.ProblemTypeRateLimited {
		return max(wait, 6*time.Hour)
	}
	return wait
}

// registeredDomain is the domain that authorities count certificates by (public suffix
// plus one label); all environments below it share its limit. A public suffix itself
// is returned unchanged.
func registeredDomain(domain string) string {
	domain = strings.ToLower(domain)
	if top, err := publicsuffix.EffectiveTLDPlusOne(domain); err == nil {
		return top
	}
	return domain
}

// countUnder adds up what there is under a registered domain.
func countUnder(top string, counts map[string]int) (n int) {
	for domain, count := range counts {
		if registeredDomain(domain) == top {
			n += count
		}
	}
	return n
}

func fullWeek(domain string) string {
	return fmt.Sprintf("%d certificates were made for names under %s within a week, and "+
		"authorities give few more; this one waits its turn", mostPerWeek, domain)
}

// clipError shortens an authority's error to one line of valid UTF-8 without NUL.
func clipError(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "?"), "\x00", "")
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxError)], "")
}
