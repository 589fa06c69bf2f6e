package controlplane

// Definition names something that admins define, as documents do: kind and name.
type Definition struct{ Kind, Name string }

func (d Definition) String() string { return d.Kind + " " + d.Name }
