<?php
/** Uses the client that openapi-generator's php generates, against a running service. */
require 'GuzzleHttp/autoload.php';
spl_autoload_register(fn ($class) => require str_replace(['OpenAPI\\Client\\', '\\'], ['client/lib/', '/'], $class) . '.php');

use OpenAPI\Client\Api\RequestAttachmentsApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model;

$request = getenv('REQUEST');
$configuration = (new Configuration())->setHost(getenv('URL'))->setAccessToken(getenv('KEY'));
$api = new RequestAttachmentsApi(new GuzzleHttp\Client(), $configuration);
$content = "%PDF-1.7 \xff\x00";
$digest = hash('sha256', $content);
$path = sys_get_temp_dir() . '/' . bin2hex(random_bytes(8)) . '.pdf';
file_put_contents($path, $content);
register_shutdown_function(fn () => unlink($path));

function equal(mixed $actual, mixed $expected): void
{
    if ($actual !== $expected) {
        throw new Exception(json_encode($actual) . ' is not ' . json_encode($expected));
    }
}

/** The first of the typed errors of a call that must fail. */
function errorOf(callable $call): Model\ErrorObject
{
    try {
        $call();
    } catch (ApiException $error) {
        return $error->getResponseObject()->getErrors()[0];
    }
    throw new Exception('The call succeeded.');
}

$byForm = function (string $name) use ($api, $request, $path): string {
    $file = new SplFileObject($path);
    $hint = Model\FileHint::LOA;
    $created = $api->createRequestAttachment($request, $file, $name, data_file_hint: $hint)->getData();
    equal([$created->getFileHint(), $created->getFilename()], ['LOA', basename($path)]);
    equal($created->getInsertedAt() instanceof DateTime, true);
    return $created->getId();
};

$directly = function (string $name) use ($api, $request, $content, $digest): string {
    $announced = new Model\UploadCreateData([
        'filename' => 'loa.pdf', 'content_type' => 'application/pdf', 'bytes' => strlen($content), 'sha256' => $digest,
    ]);
    $prepare = new Model\UploadCreate(['type' => 'upload', 'data' => $announced]);
    $upload = $api->createRequestAttachmentUpload($request, $prepare)->getData();
    $options = ['headers' => $upload->getHeaders(), 'body' => $content];
    $sent = (new GuzzleHttp\Client())->request($upload->getMethod(), $upload->getUrl(), $options);
    equal($sent->getStatusCode(), 200);
    $data = new Model\AttachmentCompleteData(['name' => $name]);
    $body = new Model\RequestAttachmentComplete(['type' => 'request_attachment', 'data' => $data]);
    $complete = fn () => $api->completeRequestAttachmentUpload($request, $upload->getId(), $body);
    $created = $complete()->getData();
    equal([$created->getId(), $created->getFileHint()], [$upload->getId(), 'DEFAULT']);
    $again = errorOf($complete);
    equal([$again->getSubCode(), $again->getSource()->getPointer()], ['constraint.reference', '/upload_id']);
    return $created->getId();
};

$walk = function () use ($api, $request): array {
    $seen = [];
    $after = null;
    do {
        $page = $api->listRequestAttachments($request, first: 2, after: $after, include: 'file')->getData();
        array_push($seen, ...$page->getItems());
        $after = $page->getPageInfo()->getAfter();
    } while ($after !== null);
    equal($page->getPageInfo()->getTotal(), count($seen));
    return $seen;
};

$ids = [$byForm('One'), $byForm('Two')];
echo "form\n";
$ids[] = $directly('Three');
echo "direct\n";
$listed = [];
foreach ($walk() as $item) {
    $listed[$item->getData()->getId()] = $item->getAssociations()->getFile()->getData()->getSha256();
}
foreach ($ids as $id) {
    equal($listed[$id], $digest);
}
echo "pages\n";
$changes = new Model\AttachmentUpdateData(['name' => 'Countersigned', 'notes' => null]);
$update = new Model\RequestAttachmentUpdate(['type' => 'request_attachment', 'data' => $changes]);
$patched = $api->updateRequestAttachment($request, $ids[0], $update)->getData();
equal([$patched->getName(), $patched->getNotes(), $patched->getFileHint()], ['Countersigned', null, 'LOA']);
echo "patch\n";
foreach ($ids as $id) {
    equal($api->deleteRequestAttachment($request, $id)->getData()->getId(), $id);
}
$missing = errorOf(fn () => $api->showRequestAttachment($request, $ids[0]));
equal([$missing->getCode(), $missing->getParams()->getResource()->getId()], ['not_found', $ids[0]]);
echo "errors\n";
