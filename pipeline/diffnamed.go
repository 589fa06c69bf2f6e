package pipeline

import (
	"fmt"
	"slices"
)

// namedList is a list whose items are objects, each with a name of its own.
type namedList struct {
	names []string
	items map[string]any
}

// namedLists reads two lists as named ones, if both are.
func namedLists(key string, old, now []any) (before, after namedList, ok bool) {
	if len(old)+len(now) == 0 {
		return before, after, false
	}
	if before, ok = newNamedList(key, old); !ok {
		return before, after, false
	}
	after, ok = newNamedList(key, now)
	return before, after, ok
}

func newNamedList(key string, list []any) (namedList, bool) {
	n := namedList{items: map[string]any{}}
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, _ := object[key].(string)
		if _, twice := n.items[name]; name == "" || twice {
			return n, false
		}
		n.names = append(n.names, name)
		n.items[name] = item
	}
	return n, true
}

// compareNamed compares item by item: path["http"].port. What is added goes to
// the end, sorted; if that does not make the new order, it is a change of its own, of
// the list of names at path.order.
func compareNamed(
	all []FieldChange, path string, old, now namedList,
) (_ []FieldChange, err error) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(
		slices.Concat(old.names, now.names)))) {
		before, had := old.items[name]
		after, has := now.items[name]
		at := fmt.Sprintf("%s[%q]", path, name)
		switch {
		case !had:
			all, err = appendChange(all, at, nil, &after)
		case !has:
			all, err = appendChange(all, at, &before, nil)
		default:
			all, err = compareTrees(all, at, before, after)
		}
		if err != nil {
			return all, err
		}
	}
	if old.becomesByAppending(now) && now.becomesByAppending(old) {
		return all, nil
	}
	was, is := any(old.names), any(now.names)
	return appendChange(all, path+".order", &was, &is)
}

// becomesByAppending reports whether removing items and appending others makes the other
// list, including its order.
func (n namedList) becomesByAppending(other namedList) bool {
	var made, added []string
	for _, name := range n.names {
		if _, stays := other.items[name]; stays {
			made = append(made, name)
		}
	}
	for _, name := range other.names {
		if _, had := n.items[name]; !had {
			added = append(added, name)
		}
	}
	slices.Sort(added)
	return slices.Equal(append(made, added...), other.names)
}
