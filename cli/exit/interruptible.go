package exit

import "context"

// Interruptible does work that no context reaches, and comes back with what it gives or,
// when the context ends before, with an interruption: the work then goes on until
// cg exits, so it has to leave nothing behind.
func Interruptible(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return With(128+int(Interrupted(ctx)), "interrupted: nothing was written")
	}
}
