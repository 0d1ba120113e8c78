/* Fault points: named places where a test kills, stops or fails this process. They exist in test builds only
 * (-DGRANARY_FAULTS); a release build has no trace of them.
 *
 * GRANARY_FAULT="name=kill"         kill -9 at the first hit
 * GRANARY_FAULT="name=kill@3"       at the third hit
 * GRANARY_FAULT="name=hold:/path"   create /path and go on only when it is gone (to hold a race open)
 * GRANARY_FAULT="name=fail"         FAULT_FAIL(name) is true at the first hit (to lose a commit's answer, ...)
 * Several are separated by commas. GRANARY_FAULT_FIRED=/path: a line "name" is appended there before acting. */
#ifndef GRANARY_BASE_FAULT_H
#define GRANARY_BASE_FAULT_H

#include <stdbool.h>

#ifdef GRANARY_FAULTS
bool fault_hit(const char *name);
#define FAULT_POINT(name) ((void)fault_hit(name))
#define FAULT_FAIL(name)  fault_hit(name)
#else
#define FAULT_POINT(name) ((void)0)
#define FAULT_FAIL(name)  false
#endif

#endif
