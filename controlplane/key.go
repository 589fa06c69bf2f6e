package controlplane

// KeyUse says how many values of one place are sealed under one master key.
type KeyUse struct {
	// Key is the key's name, Place the table.
	Key, Place string
	Values     int64
}

// KeyState is what is known of one master key.
type KeyState struct {
	Key string
	// Source says where the key is kept; empty if it is not present.
	Source string
	// Present means that this control plane was started with it; Primary, that
	// new values are sealed under it. One that is present, not primary and not
	// used may be taken out of the setting.
	Present, Primary bool
	Uses             []KeyUse
	Values           int64
}
