#!/bin/sh
# suites.sh [PYTHON]: runs CPython's own tests of some 180 modules as they are and
# with every function of the standard library instrumented (the tests are not), and
# fails if a test does not end then as it did. Each that does not is run again,
# alone, both ways, and counts if the two differ once more.
#
#   CG=path          the cg to use; built from this tree otherwise
#   CG_SUITES=short  13 of them, of all kinds, none of which takes long
#   TESTS=...        other tests than the ones below
set -eu

python=${1:-python3}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
cg=${CG:-$work/cg}
[ -x "$cg" ] || (cd "$here/../.." && go build -o "$cg" .)

tests='test_re test_dataclasses test_asyncio.test_taskgroups test_asyncio.test_pep492 test_contextlib test_copy
	test_functools test_generators test_coroutines test_asyncgen test_traceback test_sys_settrace
	test_threading_local'
[ "${CG_SUITES:-}" = short ] || tests="$tests"'
	test_asyncio.test_timeouts test_asyncio.test_locks test_asyncio.test_queues test_textwrap test_csv test_collections
	test_inspect test_bdb test_contextlib_async test_dis test_enum test_runpy
	test_argparse test_asyncio.test_futures test_decimal test_json test_warnings
	test___all__ test__opcode test_abc test_abstract_numbers test_ast test_base64 test_bisect test_bz2 test_calendar
	test_cmd test_code test_code_module test_codecs test_codeop test_colorsys test_compileall
	test_concurrent_futures.test_future test_concurrent_futures.test_init test_concurrent_futures.test_thread_pool
	test_configparser test_copyreg test_cprofile test_datetime test_dbm_dumb test_difflib test_doctest
	test_dynamicclassattribute test_email test_exception_group test_exceptions test_filecmp test_fileinput test_fnmatch
	test_fractions test_ftplib test_generator_stop test_genericpath test_getopt test_getpass test_gettext test_glob
	test_graphlib test_gzip test_hashlib test_heapq test_hmac test_html test_htmlparser test_http_cookiejar
	test_http_cookies test_httplib test_httpservers test_imaplib test_importlib test_io test_ipaddress test_keyword
	test_linecache test_locale test_logging test_lzma test_mailbox test_mimetypes test_minidom test_module
	test_modulefinder test_multiprocessing_main_handling test_netrc test_opcodes test_operator test_optparse
	test_ordered_dict test_os test_pathlib test_pdb test_pickle test_pickletools test_pkgutil test_plistlib test_poplib
	test_posixpath test_pprint test_profile test_pulldom test_py_compile test_pyclbr test_queue test_quopri test_random
	test_reprlib test_rlcompleter test_sax test_sched test_secrets test_selectors test_shelve test_shlex test_shutil
	test_signal test_site test_smtplib test_sqlite3 test_stat test_statistics test_string test_struct test_subprocess
	test_symtable test_sys test_sys_setprofile test_sysconfig test_tabnanny test_tarfile test_tempfile test_threading
	test_timeit test_tokenize test_tomllib test_trace test_type_annotations test_types test_typing test_unittest
	test_unparse test_urllib test_urllib2 test_urlparse test_userdict test_userlist test_userstring test_uuid
	test_weakref test_weakset test_wsgiref test_xml_etree test_xmlrpc test_zipapp test_zipfile test_zipimport
	test_asyncio.test_base_events test_asyncio.test_buffered_proto test_asyncio.test_context test_asyncio.test_events
	test_asyncio.test_tasks test_asyncio.test_futures2 test_asyncio.test_protocols test_asyncio.test_runners
	test_asyncio.test_selector_events test_asyncio.test_sendfile test_asyncio.test_server
	test_asyncio.test_sock_lowlevel test_asyncio.test_sslproto test_asyncio.test_streams test_asyncio.test_subprocess
	test_asyncio.test_threads test_asyncio.test_transports
	test_asyncio.test_unix_events test_asyncio.test_waitfor'
# Versions differ in which they have.
tests=$("$python" -c '
import os, sys, test.regrtest
for name in sys.argv[1:]:
    path = os.path.join(os.path.dirname(test.__file__), *name.split("."))
    if os.path.exists(path) or os.path.exists(path + ".py"):
        print(name)' ${TESTS:-$tests}) ||
	{ echo "suites.sh: $python carries no tests" >&2; exit 1; }

cd "$work"
export XDG_CACHE_HOME="$work/cache"
export PYTHONDONTWRITEBYTECODE=1 # cg writes no .pyc of a module with checkpoints
plain() {
	"$python" -m test -v --timeout 300 "$@" </dev/null
}
woven() {
	"$cg" measure python --python "$python" -g fine --include '*/lib/python3*/*' --exclude '*/test/*' --output run.json \
		-- -m test -v --timeout 300 "$@" </dev/null
}
plain -j2 --junit-xml "$work/plain.xml" $tests >plain.log 2>&1 || true
woven -j2 --junit-xml "$work/woven.xml" $tests >woven.log 2>&1 || true
mv run.json first.json

"$python" "$here/outcomes.py" differ plain.xml woven.xml >differ
again=$(for test in $tests; do if grep -qF "test.$test." differ; then echo "$test"; fi; done)
if [ -n "$again" ]; then
	sed 's/ .*//' differ >names
	plain --matchfile names --junit-xml "$work/plain-again.xml" $again >plain-again.log 2>&1 || true
	woven --matchfile names --junit-xml "$work/woven-again.xml" $again >woven-again.log 2>&1 || true
fi
status=0
"$python" "$here/outcomes.py" table "$here/suites.allow" plain.xml woven.xml \
	${again:+plain-again.xml woven-again.xml} || status=$?
"$python" -c '
import json
functions = json.load(open("first.json"))["functions"]
print("instrumented: %d functions called, %d calls" % (len(functions), sum(f["calls"] for f in functions)))'
exit $status
