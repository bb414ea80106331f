// Functions without a body are those of package runtime.
