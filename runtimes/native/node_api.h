/*
 * What is used of Node-API (nodejs.org/api/n-api.html), declared without its headers, so that none are
 * needed to compile it. All of it is of version 1, which every Node has.
 */
#ifndef CG_NODE_API_H
#define CG_NODE_API_H

#include <stddef.h>
#include <stdint.h>

typedef void *Env, *Value, *Info;
typedef Value (*Callback)(Env, Info);

extern int napi_create_function(Env, const char *name, size_t length, Callback, void *data, Value *result);
extern int napi_set_named_property(Env, Value object, const char *name, Value);
extern int napi_get_cb_info(Env, Info, size_t *argc, Value *argv, Value *this, void **data);
extern int napi_get_value_string_utf8(Env, Value, char *, size_t room, size_t *length);
extern int napi_get_typedarray_info(Env, Value, int *type, size_t *length, void **data, Value *buffer, size_t *offset);
extern int napi_create_arraybuffer(Env, size_t, void **data, Value *result);
extern int napi_create_uint32(Env, uint32_t, Value *result);
extern int napi_create_external_arraybuffer(Env, void *data, size_t, void (*finalize)(Env, void *, void *),
					    void *hint, Value *result);
extern int napi_create_object(Env, Value *result);

/* number is an unsigned number as a value. */
static Value number(Env env, uint32_t n)
{
	Value v = NULL;
	napi_create_uint32(env, n, &v);
	return v;
}

#endif
