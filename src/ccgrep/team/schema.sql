-- The schema of a team's server. `ccgrep team init` runs this file as a superuser, in one transaction.
-- docs/team.md describes it. Running it again migrates an older version and changes nothing else.
--
-- Clients call eight functions, each with one JSON argument: cc.put, cc.search, cc.grep, cc.near,
-- cc.get, cc.list, cc.stats and cc.forget. They run as cc_owner, and show a person only the projects that
-- cc.member has for that person's login role. Nobody else has rights on a table.

do $do$
begin
    if to_regclass('cc.meta') is not null then
        if (select version from cc.meta) > 3 then
            raise exception 'cc: the server has version % of the schema, a newer one: upgrade ccgrep',
                (select version from cc.meta);
        end if;
    end if;
    if not exists (select from pg_roles where rolname = 'cc_owner') then
        create role cc_owner nologin;
    end if;
    if not exists (select from pg_roles where rolname = 'cc_member') then
        create role cc_member nologin;
    end if;
end $do$;

create schema if not exists cc authorization cc_owner;
create schema if not exists cc_extension;
grant usage on schema cc to cc_member;
grant usage on schema cc_extension to cc_owner;
grant pg_read_all_stats to cc_owner;  -- to see in cc.enter whether a connection is encrypted

-- An extension that cannot be installed makes answers slower or shorter: `team status` names it.
do $do$
declare
    wanted text;
begin
    foreach wanted in array array['pg_textsearch', 'pg_trgm', 'vector'] loop
        begin
            execute format('create extension if not exists %I schema cc_extension', wanted);
        exception when others then
            raise notice '%: %', wanted, sqlerrm;
        end;
    end loop;
    -- In a schema that members use, they could call its functions or replace them.
    select extname into wanted from pg_extension
    where extname in ('pg_textsearch', 'pg_trgm', 'vector') and extnamespace <> 'cc_extension'::regnamespace;
    if found then
        raise exception 'cc: the extension % is not in the schema cc_extension: drop it, or use a database '
            'for the team alone', wanted;
    end if;
end $do$;

-- The role that runs this file may not be a member of cc_owner yet, as a superuser it need not be.
set local role cc_owner;

create table if not exists cc.meta (
    version int not null,
    partitions int not null,
    purged timestamptz,  -- when the bytes of forgotten turns were last removed
    horizon bigint  -- the first transaction whose deleted rows that left
);

create table if not exists cc.project (
    id int generated always as identity primary key,
    name text not null unique  -- the last part of the project's path
);

create table if not exists cc.member (
    role name not null,
    pattern text not null,  -- a pattern of LIKE for names of projects
    can_push boolean not null,
    primary key (role, pattern)
);

-- One person's session. Another person's session may have the same id.
create table if not exists cc.session (
    owner name not null,
    session text not null,
    project int not null references cc.project,
    parent text not null,
    ended bigint,
    is_superseded boolean not null,
    data bytea not null,  -- the session, as in a store
    pushed timestamptz not null default now(),  -- first
    primary key (owner, session)
);
create index if not exists session_prefix on cc.session (project, left(session, 8));
create index if not exists session_project on cc.session (project, ended desc);

-- One turn at one place. `turn` is the id of the redacted turn: that of the original would confirm
-- a guess of a weak secret.
create table if not exists cc.document (
    id bigint generated always as identity,
    owner name not null,
    session text not null,
    number int not null,
    project int not null,
    parent text not null,
    kind smallint not null,
    started bigint not null,
    source text not null,
    path text not null,
    branch text not null,
    models text[] not null,
    tools text[] not null,
    partial text[] not null,  -- kinds of text that are not indexed completely
    turn bytea not null,
    is_sampled boolean not null,  -- one in 64: statistics of much text are estimated from these
    lengths int[] not null,  -- in words: said, title, tool, output, thinking, note
    title text not null,
    titled text not null,  -- the words of the title, as ccgrep's own index has them
    said text not null,  -- the words of prompt and answer
    words tsvector not null,  -- the different words of all texts, each with a letter for its text
    folded text not null,  -- prompt and answer as trigrams are taken from it
    entry bytea not null,
    body bytea not null,  -- the redacted turn, compressed
    primary key (session, number, owner),
    -- A client relies on these. It checks what cannot be checked here.
    constraint well_formed check (number >= 0 and kind between 0 and 4 and octet_length(turn) = 32
        and cardinality(lengths) = 6 and 0 <= all (lengths))
) partition by hash (session);

create table if not exists cc.forgotten (
    owner name not null,
    key bytea not null,  -- the SHA-256 of the session's id
    forgotten timestamptz not null default now(),
    transaction bigint not null default pg_current_xact_id()::text::bigint,
    primary key (owner, key)
);

do $do$
declare
    n int := coalesce((select partitions from cc.meta), current_setting('cc.partitions')::int);
begin
    for i in 0 .. n - 1 loop
        execute format(
            'create table if not exists cc.document_%s partition of cc.document '
            'for values with (modulus %s, remainder %s)', i, n, i);
        -- Compressing it again would be wasted time.
        execute format('alter table cc.document_%s alter body set storage external', i);
    end loop;
    insert into cc.meta select 3, n where not exists (select from cc.meta);
    if (select version from cc.meta) = 1 then
        alter table cc.meta add column horizon bigint;
        alter table cc.session add column pushed timestamptz not null default now();
        alter table cc.forgotten
            add column transaction bigint not null default pg_current_xact_id()::text::bigint;
        alter table cc.document
            add constraint well_formed check (number >= 0 and kind between 0 and 4
                and octet_length(turn) = 32 and cardinality(lengths) = 6 and 0 <= all (lengths));
    end if;
    update cc.meta set version = 3;
end $do$;

-- One embedded part of a text of a document. It needs pgvector 0.7 or later.
reset role;
do $do$
declare
    n int := (select partitions from cc.meta);
begin
    if to_regtype('cc_extension.halfvec') is null then
        return;
    end if;
    set local search_path = pg_catalog, cc_extension;
    create table if not exists cc.passage (
        session text not null,
        number int not null,
        owner name not null,
        document bigint not null,
        project int not null,
        model text not null,
        dimensions int not null,
        surface smallint not null,  -- prompt, answer, full, title
        key bigint not null,  -- identifies the text
        first int not null,  -- where the part begins and ends in the text
        past int not null,
        vector halfvec not null,
        primary key (session, number, owner, model, surface, key, first)
    ) partition by hash (session);
    alter table cc.passage owner to cc_owner;
    for i in 0 .. n - 1 loop
        execute format(
            'create table if not exists cc.passage_%s partition of cc.passage '
            'for values with (modulus %s, remainder %s)', i, n, i);
        execute format('alter table cc.passage_%s owner to cc_owner', i);
    end loop;
    create index if not exists passage_document on cc.passage (document);
    create index if not exists passage_sample on cc.passage (project) where key % 64 = 0;
    -- Those of the models that people use. Others are compared one by one.
    foreach n in array array[256, 384, 512, 768, 1024] loop
        execute format('create index if not exists passage_hnsw_%s on cc.passage '
            'using hnsw ((vector::halfvec(%s)) halfvec_ip_ops) where dimensions = %s', n, n, n);
    end loop;
end $do$;
set local role cc_owner;

create index if not exists document_id on cc.document (id);
create index if not exists document_started on cc.document (started desc);
create index if not exists document_project on cc.document (project, started desc);
create index if not exists document_turn on cc.document (project, turn);
create index if not exists document_sample on cc.document (project) include (lengths) where is_sampled;
create index if not exists document_words on cc.document using gin (words);
create index if not exists document_sample_words on cc.document using gin (words) where is_sampled;

create or replace function cc.has(name text) returns boolean language sql stable as $$
    select exists (select from pg_extension where extname = name)
$$;

reset role;
do $do$
begin
    if exists (select from pg_extension where extname = 'pg_textsearch') then
        create index if not exists document_said on cc.document using bm25 (said)
            with (text_config = 'simple');
    end if;
    if exists (select from pg_extension where extname = 'pg_trgm') then
        create index if not exists document_folded on cc.document
            using gin (folded cc_extension.gin_trgm_ops);
    end if;
end $do$;
set local role cc_owner;

-- Who asks, and what that person may see.

create or replace function cc.enter(q jsonb) returns int[] language plpgsql stable as $$
declare
    address inet := inet_client_addr();
begin
    if address is not null and not address <<= '127.0.0.0/8' and address <> '::1'
        and not coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false)
    then
        raise exception 'cc: this connection is not encrypted';
    end if;
    if coalesce((q ->> 'version')::int, 0) <> (select version from cc.meta) then
        raise exception 'cc: the server has version % of the schema: upgrade ccgrep, or ask for '
            '`ccgrep team init`', (select version from cc.meta);
    end if;
    -- Nor may somebody whom no project was granted measure how long a search takes.
    if not exists (select from cc.member where role = session_user) then
        raise exception 'cc: you have no project: ask for `ccgrep team grant`';
    end if;
    return array(
        select id from cc.project p
        where exists (select from cc.member m where m.role = session_user and p.name like m.pattern)
    );
end $$;

create or replace function cc.strings(list jsonb) returns text[] language sql immutable as $$
    select coalesce(array_agg(value), '{}') from jsonb_array_elements_text(
        case jsonb_typeof(list) when 'array' then list else '[]' end
    )
$$;

-- Return a condition on a document `d`. Every value is quoted.
create or replace function cc.conditions(f jsonb) returns text language plpgsql immutable as $$
declare
    parts text[] := '{true}';
    kinds constant text[] := array['main', 'subagent', 'worker', 'superseded', 'document'];
begin
    if f ? 'owners' then
        parts := parts || format('d.owner = any (%L::name[])', cc.strings(f -> 'owners'));
    end if;
    if f ? 'projects' then
        parts := parts || format(
            'exists (select from unnest(%L::text[]) part where strpos(lower(d.path), lower(part)) > 0)',
            cc.strings(f -> 'projects'));
    end if;
    if f ? 'here' then
        parts := parts || format(
            '(d.path <> '''' and (starts_with(d.path || ''/'', %1$L) or starts_with(%1$L, d.path || ''/'')))',
            rtrim(f ->> 'here', '/') || '/');
    end if;
    if f ? 'since' then
        parts := parts || format('d.started >= %L::bigint', f ->> 'since');
    end if;
    if f ? 'until' then
        parts := parts || format('d.started <= %L::bigint', f ->> 'until');
    end if;
    if f ? 'sources' then
        parts := parts || format('d.source = any (%L::text[])', cc.strings(f -> 'sources'));
    end if;
    if f ? 'sessions' then
        parts := parts || format(
            'exists (select from unnest(%L::text[]) ref where starts_with(d.session, ref))',
            cc.strings(f -> 'sessions'));
    end if;
    if f ? 'except' then
        parts := parts || format('d.session <> all (%L::text[])', cc.strings(f -> 'except'));
    end if;
    if f ? 'branches' then
        parts := parts || format('d.branch = any (%L::text[])', cc.strings(f -> 'branches'));
    end if;
    if f ? 'models' then
        parts := parts || format(
            'exists (select from unnest(d.models) m, unnest(%L::text[]) part '
            'where strpos(lower(m), lower(part)) > 0)', cc.strings(f -> 'models'));
    end if;
    if f ? 'tools' then
        parts := parts || case when cc.strings(f -> 'tools') @> '{any}'
            then 'cardinality(d.tools) > 0'
            else format('d.tools && %L::text[]', cc.strings(f -> 'tools')) end;
    end if;
    parts := parts || case f ->> 'subagents'
        when 'only' then 'd.kind = 1' when 'exclude' then 'd.kind not in (1, 2)' else 'true' end;
    parts := parts || case f ->> 'documents'
        when 'only' then 'd.kind = 4' when 'exclude' then 'd.kind <> 4' else 'true' end;
    return array_to_string(parts, ' and ');
end $$;

-- Like cc.conditions, and with a limit of the number of sessions.
create or replace function cc.conditions(f jsonb, mine int[]) returns text language sql immutable as $$
    select case when f ? 'max_sessions' then format(
        '%1$s and (d.owner, d.session) in (select d.owner, d.session from cc.document d '
        'where d.project = any (%2$L::int[]) and %1$s group by 1, 2 '
        'order by max(d.started) desc, 2 limit %3$L::int)',
        cc.conditions(f), mine, f ->> 'max_sessions')
    else cc.conditions(f) end
$$;

-- Return a condition on the project of a document `d`; the parameter is an array of projects. `+ 0`
-- keeps the planner from the indexes on projects, which help only if they leave out much.
create or replace function cc.scope(mine int[], parameter text) returns text language sql stable as $$
    select format('d.project %s = any (%s)', case
        when (select count(*) from cc.document where is_sampled and project = any (mine)) * 8
            > (select count(*) from cc.document where is_sampled)
        then '+ 0' else '' end, parameter)
$$;

-- Return what a client needs to rank and to show documents, with texts of the first `texts` by their
-- words, and of as many by meaning. `near` is what cc.compare returned.
create or replace function cc.describe(
    ids bigint[], stems text[], weights float8[], average float8, lexemes tsquery[], texts int,
    near jsonb
) returns setof jsonb language sql stable as $$
    select jsonb_build_object(
        'owner', owner, 'session', session, 'number', number, 'parent', parent, 'kind', kind,
        'started', started, 'turn', encode(turn, 'hex'), 'lengths', lengths,
        'said', at, 'titled', title_at, 'mark', array_position(said_list, '¼'),
        'words', matched, 'partial', partial,
        'source', source, 'path', path, 'title', title, 'near', passages,
        'body', case when row_number() over (order by score desc nulls last, id) <= texts
            or passages is not null
                and row_number() over (order by passages #> '{0, 2}' desc nulls last, id) <= texts
            then encode(body, 'base64') end)
    from (
        select d.*, said_words.at, said_words.score, title_words.at as title_at, other.matched,
            near -> d.id::text as passages
        from (select d.*, string_to_array(d.said, ' ') as said_list,
                string_to_array(d.titled, ' ') as title_list,
                d.words || ''::tsvector as unpacked
              from cc.document d where d.id = any (ids) offset 0) d,
        lateral (
            select jsonb_object_agg(stem, at) as at, sum(weight * 2.2 * cardinality(at)
                / (cardinality(at) + 1.2 * (0.25 + 0.75 * d.lengths[1] / greatest(average, 1)))) as score
            from (select stem, weight, array_positions(d.said_list, stem) as at
                  from unnest(stems, weights) as s (stem, weight)) t
            where cardinality(at) > 0
        ) said_words,
        lateral (
            select jsonb_object_agg(stem, at) as at
            from (select stem, array_positions(d.title_list, stem) as at from unnest(stems) as s (stem)) t
            where cardinality(at) > 0
        ) title_words,
        lateral (
            select coalesce(jsonb_agg(position - 1), '[]') as matched
            from unnest(lexemes) with ordinality as l (lexeme, position) where d.unpacked @@ l.lexeme
        ) other
    ) d
    order by id  -- A client shows a place that several people pushed once, from the first of them.
$$;

-- Return the ids of sessions that begin like those of documents, to shorten them.
create or replace function cc.similar_ids(ids bigint[], mine int[]) returns text[] language sql stable as $$
    select array(select distinct s.session from cc.session s
        where s.project = any (mine) and left(s.session, 8) = any (
            array(select left(d.session, 8) from cc.document d where d.id = any (ids))))
$$;

-- Meaning. `asked` has for each model its name, the dimensions, and the vectors of the query.

-- Return the parts of documents that are most similar to a query: for each document, by its id, a
-- list of [model, surface, similarity, first, past], the most similar first.
create or replace function cc.compare(ids bigint[], asked jsonb) returns jsonb
language plpgsql stable as $$
begin
    return coalesce((
        select jsonb_object_agg(document, parts) from (
            select document, jsonb_agg(jsonb_build_array(model, surface, similarity, first, past)
                order by similarity desc) as parts
            from (
                select distinct on (p.document, m.at, p.surface) p.document, m.at - 1 as model, p.surface,
                    -(p.vector::vector <#> query::vector) as similarity, p.first, p.past
                from jsonb_array_elements(asked) with ordinality as m (value, at),
                    jsonb_array_elements_text(m.value -> 'queries') as query, cc.passage p
                where p.document = any (ids) and p.model = m.value ->> 'model'
                    and p.dimensions = (m.value ->> 'dimensions')::int
                order by p.document, m.at, p.surface, similarity desc, p.first
            ) best
            group by document
        ) d), '{}');
end $$;

-- Return how similar texts are to the first query of each model: their number, mean and variance.
create or replace function cc.background(asked jsonb, mine int[], is_large boolean) returns jsonb
language plpgsql stable as $$
begin
    return (select jsonb_agg(jsonb_build_array(known.n, known.mean, known.variance) order by m.at)
        from jsonb_array_elements(asked) with ordinality as m (value, at), lateral (
            select count(*) as n, avg(similarity) as mean, var_pop(similarity) as variance from (
                select distinct on (p.key, p.first)
                    -(p.vector::vector <#> (m.value #>> '{queries, 0}')::vector) as similarity
                from cc.passage p
                where p.project = any (mine) and p.model = m.value ->> 'model'
                    and p.dimensions = (m.value ->> 'dimensions')::int
                    and (not is_large or p.key % 64 = 0)
                limit 4000
            ) one
        ) known);
end $$;

-- Return the documents with the most similar parts, or all that pass the filters if they are few.
create or replace function cc.nearest(
    asked jsonb, surfaces smallint[], mine int[], clause text, most int
) returns bigint[] language plpgsql stable as $$
declare
    ids bigint[];
    more bigint[];
    model jsonb;
    query text;
begin
    execute 'select array(select d.id from cc.document d where d.project = any ($1) and ' || clause
        || ' limit $2)' into ids using mine, most + 1;
    if cardinality(ids) <= most then
        return ids;
    end if;
    ids := '{}';
    perform set_config('hnsw.iterative_scan', 'relaxed_order', true),
        set_config('hnsw.ef_search', '200', true);
    for model, query in select m, q from jsonb_array_elements(asked) m,
        jsonb_array_elements_text(m -> 'queries') q
    loop
        execute format('select array(select p.document from cc.passage p, lateral (select from cc.document d '
            'where d.session = p.session and d.number = p.number and d.owner = p.owner and %1$s limit 1) d '
            'where p.project = any ($1) and p.surface = any ($2) and p.model = %2$L and p.dimensions = %3$s '
            'order by p.vector::halfvec(%3$s) <#> %4$L::halfvec(%3$s) limit $3)',
            clause, model ->> 'model', (model ->> 'dimensions')::int, query)
            into more using mine, surfaces, most;
        ids := ids || more;
    end loop;
    -- A turn gains from those before and after it.
    execute 'select array(select d.id from cc.document d, (select n.session, n.owner, n.number '
        'from cc.document n where n.id = any ($1)) n, unnest(array[-1, 0, 1]) step '
        'where d.session = n.session and d.owner = n.owner and d.number = n.number + step '
        'and d.project = any ($2) and ' || clause || ')' into more using ids, mine;
    return more;
end $$;

-- Words. The first row has statistics of what the person may see, the others are candidates.
--   stems: words of `said` and `titled`; lexemes: words of `words`; some, all: queries of lexemes;
--   groups: one query for each part of the pattern; most: how many candidates to return
-- For cc.near also: models: what to compare, surfaces: with which texts.
create or replace function cc.find(q jsonb) returns setof jsonb language plpgsql stable as $$
declare
    mine int[] := cc.enter(q);
    clause text := cc.conditions(q -> 'filters', mine);
    most int := least((q ->> 'most')::int, 2000);
    stems text[] := cc.strings(q -> 'stems');
    lexemes tsquery[] := array(select value::tsquery from unnest(cc.strings(q -> 'lexemes')) as value);
    groups tsquery[] := array(select value::tsquery from unnest(cc.strings(q -> 'groups')) as value);
    any_part tsquery := (q ->> 'some')::tsquery;
    sampled bigint := (select count(*) from cc.document where is_sampled and project = any (mine));
    is_large boolean := sampled * 64 > 20000;
    is_mine text := cc.scope(mine, '$2');
    documents bigint;
    totals bigint[];
    newest bigint;
    counts bigint[] := '{}';
    found bigint;
    weights float8[] := '{}';
    one tsquery;
    ids bigint[];
    more bigint[];
    is_complete boolean := false;
    notes text[] := '{}';
    near jsonb := '{}';
    background jsonb := '[]';
begin
    if is_large then
        select count(*) * 64, array[sum(lengths[1]), sum(lengths[2]), sum(lengths[3]), sum(lengths[4]),
            sum(lengths[5]), sum(lengths[6])] into documents, totals
        from cc.document where is_sampled and project = any (mine);
        totals := array(select total * 64 from unnest(totals) as total);
    else
        select count(*), array[sum(lengths[1]), sum(lengths[2]), sum(lengths[3]), sum(lengths[4]),
            sum(lengths[5]), sum(lengths[6])] into documents, totals
        from cc.document where project = any (mine);
    end if;
    select max(started) into newest from unnest(mine) as p (id), lateral (
        select started from cc.document where project = p.id order by started desc limit 1) d;
    foreach one in array lexemes loop
        found := 0;
        if is_large then
            select count(*) * 64 into found from cc.document
            where is_sampled and words @@ one and project + 0 = any (mine);
        end if;
        if found < 30 * 64 then
            execute 'select count(*) from cc.document d where d.words @@ $1 and ' || is_mine
                into found using one, mine;
        end if;
        counts := counts || found;
    end loop;
    -- The first lexemes are those of the stems in `said`.
    for i in 1 .. cardinality(stems) loop
        weights := weights || ln(1 + greatest(documents - counts[i] + 0.5, 0.5) / (counts[i] + 0.5))::float8;
    end loop;

    found := 0;
    if is_large then
        select count(*) * 64 into found from cc.document
        where is_sampled and words @@ any_part and project + 0 = any (mine);
    end if;
    if found <= 4 * most then
        execute 'select array(select d.id from cc.document d where d.words @@ $1 and ' || is_mine || ' and '
            || clause || ' limit $3)' into ids using any_part, mine, most + 1;
        is_complete := cardinality(ids) <= most;
    end if;
    if not is_complete then
        if cc.has('pg_textsearch') then
            execute 'select array(select d.id from cc.document d where d.project = any ($2) and ' || clause
                || ' order by d.said <@> to_bm25query($1, ''cc.document_said'') limit $3)'
                into ids using array_to_string(stems, ' '), mine, most;
        else
            notes := notes || 'pg_textsearch'::text;
            execute 'select array(select id from (select d.id, d.started from cc.document d '
                'where d.words @@ $1 and ' || is_mine || ' and ' || clause
                || ' limit 5000) d order by started desc limit $3)' into ids using any_part, mine, most;
        end if;
        -- Also those with all parts anywhere, and all with a rare part.
        foreach one in array (q ->> 'all')::tsquery || groups loop
            execute 'select array(select d.id from cc.document d where d.words @@ $1 and ' || is_mine || ' and '
                || clause || ' limit $3)' into more using one, mine, most;
            if cardinality(more) < most or one = (q ->> 'all')::tsquery then
                ids := ids || more;
            end if;
        end loop;
    end if;
    if q ? 'models' then
        ids := ids || cc.nearest(q -> 'models',
            array(select value::smallint from jsonb_array_elements_text(q -> 'surfaces')), mine, clause, most);
        ids := (array(select distinct id from unnest(ids) as id))[1:5000];
        near := cc.compare(ids, q -> 'models');
        background := cc.background(q -> 'models', mine, is_large);
    end if;
    ids := array(select distinct id from unnest(ids) as id);
    return next jsonb_build_object('ids', cc.similar_ids(ids, mine),
        'documents', documents, 'totals', totals, 'newest', newest, 'counts', counts,
        'is_complete', is_complete, 'notes', notes, 'background', background);
    return query select cc.describe(ids, stems, weights, totals[1]::float8 / greatest(documents, 1),
        lexemes, (q ->> 'texts')::int, near);
end $$;

create or replace function cc.search(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
begin
    return query select cc.find(q - 'models');
end $$;

create or replace function cc.near(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
begin
    if to_regclass('cc.passage') is null then
        raise exception 'cc: the server has no pgvector 0.7 or later: search by words, -F or -E';
    end if;
    return query select cc.find(q);
end $$;

-- -F and -E. Return the condition of a plan: a literal, or {"kind": "any" or "all", "parts": […]}.
create or replace function cc.grep_condition(plan jsonb) returns text language sql immutable as $$
    select case jsonb_typeof(plan)
        when 'string' then format('d.folded like %L',
            '%' || replace(replace(replace(plan #>> '{}', '\', '\\'), '%', '\%'), '_', '\_') || '%')
        when 'object' then '(' || coalesce((
            select string_agg(cc.grep_condition(part),
                case plan ->> 'kind' when 'any' then ' or ' else ' and ' end)
            from jsonb_array_elements(plan -> 'parts') as part), 'true') || ')'
        else 'true'
    end
$$;

-- Return candidates, the newest first, after a row that says whether they are all.
--   discussion: a plan for prompt and answer; words: a query of lexemes for tools and thinking;
--   partial: kinds of text; is_scan: compare every document
create or replace function cc.grep(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
declare
    mine int[] := cc.enter(q);
    clause text := cc.conditions(q -> 'filters', mine);
    most int := least((q ->> 'most')::int, 20000);
    parts text[] := '{}';
    is_scan boolean := coalesce((q ->> 'is_scan')::boolean, false);
    notes text[] := '{}';
    scanned constant int := 20000;
    ids bigint[];
    newest bigint;
    condition text;
begin
    select max(started) into newest from unnest(mine) as p (id), lateral (
        select started from cc.document where project = p.id order by started desc limit 1) d;
    if q ? 'discussion' then
        parts := parts || cc.grep_condition(q -> 'discussion');
    end if;
    if q ? 'words' then
        parts := parts || format('d.words @@ %L::tsquery', q ->> 'words');
    end if;
    condition := case when is_scan then 'true' else format('(%s or d.partial && %L::text[])',
        array_to_string(parts, ' or '), cc.strings(q -> 'partial')) end;
    if not is_scan and q ? 'discussion' and not cc.has('pg_trgm') then
        is_scan := true;
        notes := notes || 'pg_trgm'::text;
    end if;
    if is_scan then
        execute format('select array(select id from (select * from cc.document d where %s and %s '
            'order by d.started desc limit %s) d where %s order by started desc, id limit %s)',
            cc.scope(mine, '$1'), clause, scanned, condition, most + 1) into ids using mine;
    else
        execute format('select array(select d.id from cc.document d where d.project = any ($1) and %s and %s '
            'order by d.started desc, d.id limit %s)', clause, condition, most + 1) into ids using mine;
    end if;
    return next jsonb_build_object('ids', cc.similar_ids(ids, mine), 'newest', newest, 'notes', notes,
        'is_complete', cardinality(ids) <= most and not (is_scan and (
            select count(*) from (select from cc.document where project = any (mine) limit scanned + 1) d
        ) > scanned));
    return query select cc.describe(ids[1:most], '{}', '{}', 1, '{}', most, '{}');
end $$;

-- Return a session and some of its turns, or the sessions that a REF could mean.
--   session: an id or its prefix; from, to: turn numbers; turn: the prefix of a turn's id, in hex
--   owner: only what this person pushed. Without it, of equal ids the one that was pushed first.
create or replace function cc.get(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
declare
    mine int[] := cc.enter(q);
    ref text := q ->> 'session';
    wanted name := q ->> 'owner';
    chosen cc.session;
    first int := coalesce((q ->> 'from')::int, 0);
    last int := coalesce((q ->> 'to')::int, 2000000000);
    matching bigint;
begin
    if q ? 'turn' then
        select d.session, d.number, d.owner into ref, first, wanted from cc.document d
        where d.project = any (mine) and d.turn between decode(rpad(q ->> 'turn', 64, '0'), 'hex')
            and decode(rpad(q ->> 'turn', 64, 'f'), 'hex')
        order by d.started, d.id limit 1;
        last := first;
    end if;
    if ref is null or ref = '' then
        return;
    end if;
    select count(distinct s.session) into matching from cc.session s
    where s.project = any (mine) and starts_with(s.session, ref)
        and (length(ref) < 8 or left(s.session, 8) = left(ref, 8)) and (wanted is null or s.owner = wanted);
    select * into chosen from cc.session s
    where s.project = any (mine) and starts_with(s.session, ref)
        and (length(ref) < 8 or left(s.session, 8) = left(ref, 8)) and (wanted is null or s.owner = wanted)
    order by s.session <> ref, s.pushed, s.owner limit 1;
    if not found then
        return;
    end if;
    if matching > 1 and chosen.session <> ref then
        return query select jsonb_build_object('match', s.session, 'data', encode(s.data, 'base64')) from (
            select distinct on (s.session) s.session, s.data from cc.session s
            where s.project = any (mine) and starts_with(s.session, ref) and (wanted is null or s.owner = wanted)
            order by s.session, s.pushed, s.owner limit 11) s;
        return;
    end if;
    return next jsonb_build_object('owner', chosen.owner, 'session', chosen.session, 'data', encode(chosen.data, 'base64'),
        'is_superseded', chosen.is_superseded);
    return query select jsonb_build_object(
        'owner', d.owner, 'session', d.session, 'number', d.number, 'parent', d.parent, 'kind', d.kind,
        'started', d.started, 'turn', encode(d.turn, 'hex'), 'lengths', d.lengths, 'said', null,
        'titled', null, 'mark', null, 'words', '[]'::jsonb, 'partial', d.partial, 'source', d.source,
        'path', d.path, 'title', d.title, 'entry', encode(d.entry, 'base64'),
        'body', encode(d.body, 'base64'))
    from cc.document d
    where d.session = chosen.session and d.owner = chosen.owner and d.project = any (mine)
        and d.number between first and last
    order by d.number;
end $$;

-- Return sessions that have a turn which passes the filters, the most recent first.
create or replace function cc.list(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
declare
    mine int[] := cc.enter(q);
begin
    return query execute format(
        'select jsonb_build_object(''owner'', s.owner, ''session'', s.session, ''data'', %s, '
        '''is_superseded'', s.is_superseded, ''ended'', s.ended) from cc.session s '
        'where s.project = any ($1) and not s.is_superseded and exists (select from cc.document d '
        'where d.session = s.session and d.owner = s.owner and d.project = any ($1) and %s) '
        'order by s.ended desc nulls last, s.session limit %s',
        case when q ? 'ids_only' then 'null' else 'encode(s.data, ''base64'')' end,
        cc.conditions(q -> 'filters', mine), coalesce(nullif((q ->> 'limit')::int, 0), 100000))
        using mine;
end $$;

-- Return the ids of sessions that begin with one of `prefixes` of 8 letters. Only a proxy calls it:
-- to shorten an id, it must know those of all servers.
create or replace function cc.similar(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
declare
    mine int[] := cc.enter(q);
begin
    return query select distinct to_jsonb(s.session) from cc.session s
    where s.project = any (mine) and left(s.session, 8) = any (cc.strings(q -> 'prefixes'));
end $$;

-- Count sessions and different turns: of all, and by owner, source, project, day and tool.
create or replace function cc.stats(q jsonb) returns setof jsonb
language plpgsql stable security definer as $$
declare
    mine int[] := cc.enter(q);
begin
    return query execute $sql$
        with d as materialized (
            select d.owner, d.session, d.turn, d.started, d.source, d.path, d.tools from cc.document d
            where d.project = any ($1) and $sql$ || cc.conditions(q -> 'filters', mine) || $sql$
        ), named as (
            select owner, session, turn, kind, name from d, lateral (values
                ('people', owner::text), ('sources', source), ('projects', path),
                ('days', to_char(to_timestamp(nullif(started, 0) / 1000) at time zone 'UTC', 'YYYY-MM-DD'))
            ) v (kind, name)
            union all select owner, session, turn, 'tools', unnest(tools) from d
        ), counted as (
            select kind, coalesce(name, '') as name, count(distinct (owner, session)) as sessions,
                count(distinct turn) as turns
            from named group by 1, 2
        )
        select jsonb_build_object('people', '[]'::jsonb, 'sources', '[]'::jsonb, 'projects', '[]'::jsonb,
            'days', '[]'::jsonb, 'tools', '[]'::jsonb) || coalesce((
                select jsonb_object_agg(kind, rows) from (
                    select kind, jsonb_agg(jsonb_build_object('name', name, 'sessions', sessions,
                        'turns', turns) order by turns desc, name) as rows
                    from counted group by kind) r), '{}')
            || jsonb_build_object('sessions', count(distinct (owner, session)),
                'turns', count(distinct turn), 'copies', count(*) - count(distinct turn),
                'first', min(nullif(started, 0)), 'last', max(nullif(started, 0)))
        from d
    $sql$ using mine;
end $$;

-- Return the number of the partition that has a session.
create or replace function cc.partition_of(session text) returns int language sql stable as $$
    select part from cc.meta m, generate_series(0, m.partitions - 1) part
    where satisfies_hash_partition('cc.document'::regclass, m.partitions, part, session)
$$;

-- Store sessions and some of their documents. What is there already is left alone.
create or replace function cc.put(q jsonb) returns jsonb
language plpgsql security definer as $$
#variable_conflict use_column
declare
    one jsonb;
    mine int[] := cc.enter(q);
    place int;
    refused text[] := '{}';
    written int := 0;
    n int;
    has_passages constant boolean := to_regclass('cc.passage') is not null;
begin
    -- A concurrent cc.forget of the same person waits, and the other way round. An advisory lock
    -- could be taken by anybody.
    perform from cc.member m where m.role = session_user order by m.pattern for share;
    -- In this order, concurrent calls lock the same rows, and the indexes of pg_textsearch 1.0: it holds
    -- a lock on each until the end of the transaction, and PostgreSQL does not notice a deadlock of them.
    for one in select value from jsonb_array_elements(q -> 'sessions')
        order by cc.partition_of(value ->> 'session'), value ->> 'session' loop
        -- Also what belongs to a forgotten session: a sub-agent, or an earlier version `<id>~2`.
        if exists (select from cc.forgotten f where f.owner = session_user and f.key in (
            cc.forgotten_key(one ->> 'session'), cc.forgotten_key(split_part(one ->> 'session', '~', 1)),
            cc.forgotten_key(nullif(one ->> 'parent', ''))))
        then
            insert into cc.forgotten (owner, key) values (session_user, cc.forgotten_key(one ->> 'session'))
            on conflict do nothing;
            refused := refused || (one ->> 'session');
            continue;
        end if;
        -- The same answer, whether there is such a project or not.
        if not exists (select from cc.member m where m.role = session_user and m.can_push
            and one ->> 'project' like m.pattern)
        then
            raise exception 'cc: you may not push to the project %', one ->> 'project';
        end if;
        insert into cc.project (name) values (one ->> 'project') on conflict do nothing;
        select id into strict place from cc.project where name = one ->> 'project';
        insert into cc.session values (session_user, one ->> 'session', place, one ->> 'parent',
            (one ->> 'ended')::bigint, (one ->> 'is_superseded')::boolean, decode(one ->> 'data', 'base64'))
        on conflict (owner, session) do update set project = excluded.project, parent = excluded.parent,
            ended = excluded.ended, is_superseded = excluded.is_superseded, data = excluded.data;
        delete from cc.document d where d.owner = session_user and d.session = one ->> 'session'
            and (d.number >= (one ->> 'turns')::int or d.project <> place);
        if has_passages then
            delete from cc.passage p where p.owner = session_user and p.session = one ->> 'session'
                and (p.number >= (one ->> 'turns')::int or p.project <> place);
        end if;
        insert into cc.document (owner, session, number, project, parent, kind, started, source, path,
            branch, models, tools, partial, turn, is_sampled, lengths, title, titled, said, words,
            folded, entry, body)
        select session_user, one ->> 'session', d.number, place, one ->> 'parent', (one ->> 'kind')::smallint,
            greatest(least(d.started, 253402300799999), 0), one ->> 'source', one ->> 'path', d.branch, cc.strings(d.models), cc.strings(d.tools),
            cc.strings(d.partial), decode(d.turn, 'hex'), get_byte(decode(d.turn, 'hex'), 8) < 4,
            array(select value::int from jsonb_array_elements_text(d.lengths)), d.title, d.titled, d.said,
            array_to_tsvector(string_to_array(d.words, ' ')), d.folded, decode(d.entry, 'base64'),
            decode(d.body, 'base64')
        from jsonb_to_recordset(one -> 'documents') as d (number int, started bigint, branch text,
            models jsonb, tools jsonb, partial jsonb, turn text, lengths jsonb, title text, titled text,
            said text, words text, folded text, entry text, body text)
        order by d.number
        on conflict (session, number, owner) do update set
            project = excluded.project, parent = excluded.parent, kind = excluded.kind,
            started = excluded.started, path = excluded.path, branch = excluded.branch,
            models = excluded.models, tools = excluded.tools, partial = excluded.partial,
            turn = excluded.turn, is_sampled = excluded.is_sampled, lengths = excluded.lengths,
            title = excluded.title, titled = excluded.titled, said = excluded.said,
            words = excluded.words, folded = excluded.folded, entry = excluded.entry, body = excluded.body
        where (document.turn, document.kind, document.started, document.title, document.path, document.entry)
            is distinct from
            (excluded.turn, excluded.kind, excluded.started, excluded.title, excluded.path, excluded.entry);
        get diagnostics n = row_count;
        written := written + n;
        if has_passages then
            perform cc.put_passages(one, place);
        end if;
    end loop;
    return jsonb_build_object('written', written, 'refused', refused, 'has_passages', has_passages);
end $$;

-- Store the vectors of pushed documents, and delete those of texts that they do not have any more.
create or replace function cc.put_passages(one jsonb, place int) returns void language plpgsql as $$
begin
    delete from cc.passage p using jsonb_to_recordset(one -> 'documents') as d (number int, keys jsonb)
    where p.owner = session_user and p.session = one ->> 'session' and p.number = d.number
        and p.key is distinct from (d.keys ->> p.surface)::bigint;
    insert into cc.passage
    select d.session, d.number, d.owner, d.id, place, v ->> 0, vector_dims((v ->> 6)::halfvec),
        (v ->> 2)::smallint, (v ->> 3)::bigint, (v ->> 4)::int, (v ->> 5)::int, (v ->> 6)::halfvec
    from jsonb_to_recordset(one -> 'documents') as pushed (number int, vectors jsonb)
    join cc.document d on d.session = one ->> 'session' and d.number = pushed.number
        and d.owner = session_user,
        jsonb_array_elements(pushed.vectors) as v
    on conflict do nothing;
end $$;

create or replace function cc.forgotten_key(session text) returns bytea language sql immutable as $$
    select sha256(convert_to(session, 'UTF8'))
$$;

-- Delete one's own sessions with their sub-agents and earlier versions, and refuse them from now on.
-- One transaction.
create or replace function cc.forget(q jsonb) returns jsonb
language plpgsql security definer as $$
declare
    mine int[] := cc.enter(q);
    names text[] := cc.strings(q -> 'sessions');
    n int;
    gone text[];
begin
    perform from cc.member m where m.role = session_user order by m.pattern for update;
    loop
        n := cardinality(names);
        names := array(
            select unnest(names) union
            select session from cc.session where owner = session_user
                and (parent = any (names) or is_superseded and split_part(session, '~', 1) in (
                    select split_part(name, '~', 1) from unnest(names) as name)));
        exit when cardinality(names) = n;
    end loop;
    delete from cc.document where owner = session_user and session = any (names);
    if to_regclass('cc.passage') is not null then
        delete from cc.passage where owner = session_user and session = any (names);
    end if;
    with deleted as (
        delete from cc.session where owner = session_user and session = any (names) returning session
    ) select array_agg(session) into gone from deleted;
    insert into cc.forgotten (owner, key)
    select session_user, cc.forgotten_key(name) from unnest(names) as name
    on conflict do nothing;
    return jsonb_build_object('sessions', coalesce(gone, '{}'));
end $$;

do $do$
declare
    name regprocedure;
begin
    for name in select p.oid from pg_proc p where pronamespace = 'cc'::regnamespace loop
        execute format('revoke all on function %s from public', name);
        -- Nothing that a person creates can stand in for a table, a function or an operator.
        execute format('alter function %s set search_path = pg_catalog, cc, cc_extension, pg_temp', name);
        -- Otherwise debug_print_plan shows a caller what the planner expects to find.
        execute format('alter function %s set client_min_messages = warning', name);
        execute format('alter function %s set jit = off', name);
    end loop;
end $do$;
grant execute on function cc.put(jsonb), cc.search(jsonb), cc.grep(jsonb), cc.near(jsonb), cc.get(jsonb),
    cc.list(jsonb), cc.similar(jsonb), cc.stats(jsonb), cc.forget(jsonb) to cc_member;
reset role;
