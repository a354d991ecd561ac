/* The filtering dictionary `unaccent`, for test servers whose wheel lacks PostgreSQL's own module of that name.
 *
 * It reads the same rules file and answers as the original does: what a rule names is replaced, the longest match first;
 * everything else stays. Compiled by tests/servers/postgres.py; a test holds it to the original's answers.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "commands/defrem.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_locale.h"
#include "tsearch/ts_public.h"
#include "utils/builtins.h"

PG_MODULE_MAGIC;

typedef struct
{
    char *from;
    char *to;
    int from_length;
} Rule;

typedef struct
{
    Rule *rules; /* in the order of their `from` */
    int count;
    int longest; /* bytes of the longest `from` */
} Rules;

static int
compare(const void *left, const void *right)
{
    return strcmp(((const Rule *) left)->from, ((const Rule *) right)->from);
}

/* The next word of a line, which is bare or stands in double quotes with a quote inside it twice; NULL at the end. */
static char *
word(char **rest)
{
    char *from = *rest;
    StringInfoData read;

    while (isspace((unsigned char) *from))
        from++;
    if (*from == '\0')
        return NULL;
    initStringInfo(&read);
    if (*from == '"')
    {
        for (from++; *from != '\0' && (*from != '"' || from[1] == '"'); from++)
        {
            if (*from == '"')
                from++;
            appendStringInfoChar(&read, *from);
        }
        if (*from == '"')
            from++;
    }
    else
        while (*from != '\0' && !isspace((unsigned char) *from))
            appendStringInfoChar(&read, *from++);
    *rest = from;
    return read.data;
}

PG_FUNCTION_INFO_V1(unaccent_init);
Datum
unaccent_init(PG_FUNCTION_ARGS)
{
    DefElem *option = linitial((List *) PG_GETARG_POINTER(0));
    Rules *known = palloc0(sizeof(Rules));
    int room = 4096;
    tsearch_readline_state file;
    char *name = get_tsearch_config_filename(defGetString(option), "rules");
    char *line;

    if (!tsearch_readline_begin(&file, name))
        ereport(ERROR, (errmsg("could not open %s: %m", name)));
    known->rules = palloc(room * sizeof(Rule));
    while ((line = tsearch_readline(&file)) != NULL)
    {
        char *rest = line;
        char *from = word(&rest);
        char *to = from == NULL ? NULL : word(&rest);

        if (from == NULL)
            continue;
        if (known->count == room)
            known->rules = repalloc(known->rules, (room *= 2) * sizeof(Rule));
        known->rules[known->count++] = (Rule){from, to == NULL ? pstrdup("") : to, strlen(from)};
        known->longest = Max(known->longest, (int) strlen(from));
    }
    tsearch_readline_end(&file);
    qsort(known->rules, known->count, sizeof(Rule), compare);
    PG_RETURN_POINTER(known);
}

static Rule *
rule_at(Rules *known, const char *text, int left)
{
    char from[64];

    for (int length = Min(Min(known->longest, left), (int) sizeof(from) - 1); length > 0; length--)
    {
        Rule *found;
        Rule asked = {from, NULL, length};

        memcpy(from, text, length);
        from[length] = '\0';
        found = bsearch(&asked, known->rules, known->count, sizeof(Rule), compare);
        if (found != NULL)
            return found;
    }
    return NULL;
}

PG_FUNCTION_INFO_V1(unaccent_lexize);
Datum
unaccent_lexize(PG_FUNCTION_ARGS)
{
    Rules *known = (Rules *) PG_GETARG_POINTER(0);
    const char *text = (const char *) PG_GETARG_POINTER(1);
    int length = PG_GETARG_INT32(2);
    bool changed = false;
    TSLexeme *answer;
    StringInfoData made;

    initStringInfo(&made);
    for (int place = 0; place < length;)
    {
        Rule *rule = rule_at(known, text + place, length - place);
        int taken = rule == NULL ? pg_mblen(text + place) : rule->from_length;

        if (rule == NULL)
            appendBinaryStringInfo(&made, text + place, taken);
        else
            appendStringInfoString(&made, rule->to);
        changed = changed || rule != NULL;
        place += taken;
    }
    if (!changed)
        PG_RETURN_POINTER(NULL);
    answer = palloc0(2 * sizeof(TSLexeme));
    answer->lexeme = made.data;
    answer->flags = TSL_FILTER;
    PG_RETURN_POINTER(answer);
}

PG_FUNCTION_INFO_V1(unaccent_dict);
Datum
unaccent_dict(PG_FUNCTION_ARGS)
{
    bool named = PG_NARGS() == 2;
    Oid which = named ? PG_GETARG_OID(0) : get_ts_dict_oid(list_make1(makeString("unaccent")), false);
    text *given = PG_GETARG_TEXT_PP(named ? 1 : 0);
    TSDictionaryCacheEntry *dictionary = lookup_ts_dictionary_cache(which);
    TSLexeme *answer = (TSLexeme *) DatumGetPointer(FunctionCall4(
        &dictionary->lexize, PointerGetDatum(dictionary->dictData), PointerGetDatum(VARDATA_ANY(given)),
        Int32GetDatum(VARSIZE_ANY_EXHDR(given)), PointerGetDatum(NULL)));

    if (answer == NULL)
        PG_RETURN_TEXT_P(given);
    PG_RETURN_TEXT_P(cstring_to_text(answer->lexeme));
}
