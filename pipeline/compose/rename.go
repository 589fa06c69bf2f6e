package compose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
)

// maxKey is the longest key of a step.
const maxKey = 40

// nameSteps chooses the step key of each service.
func (r *composeReader) nameSteps() {
	r.keys = uniqueLabels(r.project.ServiceNames())
}

// nameSecrets chooses a distinct name in the project for each secret of the file: db-pw and db_pw
// are two.
func (r *composeReader) nameSecrets() {
	r.secretNames = uniqueLabels(slices.Sorted(maps.Keys(r.project.Secrets)))
	for secret, label := range r.secretNames {
		name := strings.ReplaceAll(strings.ToUpper(label), "-", "_")
		if name == "" || name[0] < 'A' {
			name = "S_" + name
		}
		r.secretNames[secret] = name
	}
}

// uniqueLabels maps names to labels. A name that is a label already stays; another
// one is spelled as a label that no other has.
func uniqueLabels(names []string) map[string]string {
	all := map[string]string{}
	taken := map[string]bool{}
	for _, name := range names {
		if toLabel(name) == name {
			all[name], taken[name] = name, true
		}
	}
	for _, name := range names {
		if all[name] != "" {
			continue
		}
		all[name] = freeLabel(toLabel(name), taken)
	}
	return all
}

// freeLabel returns the label itself, or with a number after it if it is taken.
func freeLabel(wanted string, taken map[string]bool) string {
	key := wanted
	for n := 2; taken[key]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		key = strings.TrimRight(wanted[:min(len(wanted), maxKey-len(suffix))], "-") + suffix
	}
	taken[key] = true
	return key
}

// toLabel spells a service's name as a DNS label that begins with a letter.
func toLabel(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	name = strings.Trim(name, "-")
	if name != "" && name[0] <= '9' {
		name = "s-" + name
	}
	return strings.TrimRight(name[:min(len(name), maxKey)], "-")
}

// renamedServices are the services whose host name is another one here.
func (r *composeReader) renamedServices() []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		if r.keys[name] != name {
			all = append(all, name)
		}
	}
	return all
}

// renameHosts replaces the host names of renamed services in a variable's value
// where they clearly are host names: in a URL, before a port, and alone where the
// variable's name says that it holds a host.
func (r *composeReader) renameHosts(service, variable, value string) string {
	for _, old := range r.renamedServices() {
		changed := renameHost(variable, value, old, r.keys[old])
		if changed != value {
			r.addNote(service, "environment", "in %s, the host name %s becomes %s", variable, old,
				r.keys[old])
		}
		value = changed
	}
	return value
}

var (
	// urlHosts are the scheme, and all up to the path.
	urlHosts = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/?#\s"'<>\\|]+)`)
	hostPort = regexp.MustCompile(`^(\s*)([A-Za-z0-9_.-]+)(:[0-9]{1,5}\s*)$`)
	// laterHost is the second host of a URL such as mongodb://a:1,b:2/x.
	laterHost = regexp.MustCompile(`^([A-Za-z0-9_.-]+)(:[0-9]{1,5})?([/?#].*)?$`)
	hostsName = regexp.MustCompile(`(?i)(^|_)(HOST|HOSTS|HOSTNAME|SERVER|SERVERS|ADDR|ADDRESS|` +
		`ADDRESSES|ENDPOINT|ENDPOINTS|URL|URI|BROKER|BROKERS|PEERS|NODES|SEEDS)$`)
)

// renameHost goes from comma to comma, since lists of hosts have those.
func renameHost(variable, value, old, now string) string {
	parts := strings.Split(value, ",")
	inURL := false
	for i, part := range parts {
		trimmed := strings.TrimSpace(part)
		later := laterHost.FindStringSubmatch(trimmed)
		switch {
		case urlHosts.MatchString(part):
			inURL = true
			parts[i] = urlHosts.ReplaceAllStringFunc(part, func(url string) string {
				found := urlHosts.FindStringSubmatch(url)
				at := strings.LastIndex(found[2], "@") + 1
				host, port, ported := strings.Cut(found[2][at:], ":")
				if host != old {
					return url
				}
				if ported {
					port = ":" + port
				}
				return found[1] + found[2][:at] + now + port
			})
		case hostPort.MatchString(part) && hostPort.FindStringSubmatch(part)[2] == old:
			parts[i] = hostPort.ReplaceAllString(part, "${1}"+now+"${3}")
		case inURL && later != nil && later[1] == old:
			parts[i] = now + later[2] + later[3]
		case trimmed == old && hostsName.MatchString(variable):
			parts[i] = strings.Replace(part, old, now, 1)
		}
	}
	return strings.Join(parts, ",")
}

// noteRenamedHosts lists where a service still names another by a host name that
// is spelled otherwise here. env is what its variables became.
func (r *composeReader) noteRenamedHosts(s types.ServiceConfig, env map[string]string) {
	if r.keys[s.Name] != s.Name {
		r.addNote(s.Name, "name", "it is called %s here, since that is a host name", r.keys[s.Name])
	}
	for _, other := range r.renamedServices() {
		word := regexp.MustCompile(`(^|[^A-Za-z0-9_.-])` + regexp.QuoteMeta(other) +
			`($|[^A-Za-z0-9_-])`)
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if word.MatchString(env[name]) {
				r.addNote(s.Name, "environment", "%s names %s, which is called %s here; change it", name,
					other, r.keys[other])
			}
		}
		r.noteRenamedText(s, other, word)
	}
}

func (r *composeReader) noteRenamedText(s types.ServiceConfig, other string, word *regexp.Regexp) {
	texts := map[string]string{"command": strings.Join(s.Command, " "),
		"entrypoint": strings.Join(s.Entrypoint, " ")}
	if s.HealthCheck != nil {
		texts["healthcheck"] = strings.Join(s.HealthCheck.Test, " ")
	}
	for _, field := range slices.Sorted(maps.Keys(texts)) {
		if word.MatchString(texts[field]) {
			r.addNote(s.Name, field, "it names %s, which is called %s here; change it", other,
				r.keys[other])
		}
	}
	for _, c := range s.Configs {
		if word.MatchString(r.project.Configs[c.Source].Content) {
			r.addNote(s.Name, "configs", "%s names %s, which is called %s here; change it", c.Source,
				other, r.keys[other])
		}
	}
}
