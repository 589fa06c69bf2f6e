package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// differ collects what breaks. A form is compared once in each direction: forms
// may hold themselves.
type differ struct {
	found []string
	seen  map[pair]bool
}

type pair struct {
	old, now *openapi3.Schema
	sent     bool
}

func compareSpecs(old, now *openapi3.T) []string {
	d := &differ{seen: map[pair]bool{}}
	for _, path := range slices.Sorted(maps.Keys(old.Paths.Map())) {
		before, after := old.Paths.Value(path), now.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(before.Operations())) {
			if after == nil || after.GetOperation(method) == nil {
				d.say("%s %s is gone", method, path)
				continue
			}
			d.operation(method+" "+path, before.GetOperation(method), after.GetOperation(method))
		}
	}
	slices.Sort(d.found)
	return slices.Compact(d.found)
}

func (d *differ) say(format string, args ...any) {
	d.found = append(d.found, fmt.Sprintf(format, args...))
}

func (d *differ) operation(at string, old, now *openapi3.Operation) {
	if a, b := old.Extensions["x-access"], now.Extensions["x-access"]; a != b {
		d.say("%s: x-access was %v and is %v", at, a, b)
	}
	d.parameters(at, old.Parameters, now.Parameters)
	d.body(at, old.RequestBody, now.RequestBody)
	for status, answer := range old.Responses.Map() {
		after := now.Responses.Value(status)
		if after == nil {
			d.say("%s: it no longer answers %s", at, status)
			continue
		}
		for media, content := range answer.Value.Content {
			other := after.Value.Content.Get(media)
			if other == nil {
				d.say("%s: answer %s is no longer %s", at, status, media)
				continue
			}
			d.schema(at+": answer "+status, content.Schema, other.Schema, false)
		}
	}
}

func (d *differ) parameters(at string, old, now openapi3.Parameters) {
	for _, p := range old {
		after := now.GetByInAndName(p.Value.In, p.Value.Name)
		switch {
		case after == nil:
			d.say("%s: parameter %s is gone", at, p.Value.Name)
		case after.Required && !p.Value.Required:
			d.say("%s: parameter %s must be sent now", at, p.Value.Name)
		default:
			d.schema(at+": parameter "+p.Value.Name, p.Value.Schema, after.Schema, true)
		}
	}
	for _, p := range now {
		if p.Value.Required && old.GetByInAndName(p.Value.In, p.Value.Name) == nil {
			d.say("%s: parameter %s is new and must be sent", at, p.Value.Name)
		}
	}
}

func (d *differ) body(at string, old, now *openapi3.RequestBodyRef) {
	switch {
	case old == nil && now == nil:
	case now == nil:
		d.say("%s: it takes no body any more", at)
	case old == nil:
		if now.Value.Required {
			d.say("%s: it needs a body now", at)
		}
	default:
		if now.Value.Required && !old.Value.Required {
			d.say("%s: it needs a body now", at)
		}
		for media, content := range old.Value.Content {
			after := now.Value.Content.Get(media)
			if after == nil {
				d.say("%s: it takes no %s any more", at, media)
				continue
			}
			d.schema(at+": body", content.Schema, after.Schema, true)
		}
	}
}

// schema compares two forms. What is sent to us may only become wider, what we
// answer only say more.
func (d *differ) schema(at string, old, now *openapi3.SchemaRef, sent bool) {
	if old == nil || now == nil || old.Value == nil || now.Value == nil {
		return
	}
	key := pair{old.Value, now.Value, sent}
	if d.seen[key] {
		return
	}
	d.seen[key] = true
	d.values(at, old.Value, now.Value, sent)
	d.properties(at, old.Value, now.Value, sent)
	d.schema(at+"[]", old.Value.Items, now.Value.Items, sent)
	d.schema(at+".*", old.Value.AdditionalProperties.Schema,
		now.Value.AdditionalProperties.Schema, sent)
	d.schema(at+" (each)", firstSchema(old.Value.AllOf), firstSchema(now.Value.AllOf), sent)
}

func firstSchema(all openapi3.SchemaRefs) *openapi3.SchemaRef {
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

func (d *differ) values(at string, old, now *openapi3.Schema, sent bool) {
	if a, b := schemaKind(old), schemaKind(now); a != b {
		d.say("%s: its type was %s and is %s", at, a, b)
	}
	if !sent {
		return
	}
	for _, v := range old.Enum {
		if len(now.Enum) > 0 && !slices.Contains(formatAll(now.Enum), fmt.Sprint(v)) {
			d.say("%s: %v is no longer accepted", at, v)
		}
	}
	if len(old.Enum) == 0 && len(now.Enum) > 0 {
		d.say("%s: only some values are accepted now", at)
	}
	if old.Pattern != now.Pattern && now.Pattern != "" {
		d.say("%s: its pattern was %q and is %q", at, old.Pattern, now.Pattern)
	}
	d.bounds(at, old, now)
}

func (d *differ) bounds(at string, old, now *openapi3.Schema) {
	if now.MaxLength != nil && (old.MaxLength == nil || *now.MaxLength < *old.MaxLength) {
		d.say("%s: its longest length fell to %d", at, *now.MaxLength)
	}
	if now.MinLength > old.MinLength {
		d.say("%s: its shortest length rose to %d", at, now.MinLength)
	}
	if now.Max != nil && (old.Max == nil || *now.Max < *old.Max) {
		d.say("%s: its maximum fell to %s", at, formatNumber(*now.Max))
	}
	if now.Min != nil && (old.Min == nil || *now.Min > *old.Min) {
		d.say("%s: its minimum rose to %s", at, formatNumber(*now.Min))
	}
	if now.MaxItems != nil && (old.MaxItems == nil || *now.MaxItems < *old.MaxItems) {
		d.say("%s: it takes %d items at most now", at, *now.MaxItems)
	}
}

func (d *differ) properties(at string, old, now *openapi3.Schema, sent bool) {
	for name, p := range old.Properties {
		after := now.Properties[name]
		switch must := slices.Contains(now.Required, name); {
		case after == nil:
			d.say("%s: %s is gone", at, name)
		case sent && must && !slices.Contains(old.Required, name):
			d.say("%s: %s must be sent now", at, name)
		case !sent && !must && slices.Contains(old.Required, name):
			d.say("%s: %s may be missing now", at, name)
		default:
			d.schema(at+"."+name, p, after, sent)
		}
	}
	for _, name := range now.Required {
		if sent && old.Properties[name] == nil {
			d.say("%s: %s is new and must be sent", at, name)
		}
	}
}

func schemaKind(s *openapi3.Schema) string {
	if s.Type == nil {
		return "anything"
	}
	all := slices.Sorted(slices.Values(s.Type.Slice()))
	return strings.TrimSpace(strings.Join(all, " or ") + " " + s.Format)
}

func formatAll(all []any) []string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = fmt.Sprint(v)
	}
	return out
}

func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
